// k6's side of a race over HTTP. It is the same for every race: what differs stands in the JSON file FAIRLAP_PLAN.
// Each request writes one line, as fairlap_race/http/load_answers.py describes it.
import { b64encode } from 'k6/encoding';
import exec from 'k6/execution';
import http from 'k6/http';
import { SharedArray } from 'k6/data';

const plan = JSON.parse(open(__ENV.FAIRLAP_PLAN));
// Each: [method, path, body or null, content type or null], with zipf also [threshold, alias].
const requests = new SharedArray('requests', () => JSON.parse(open(plan.requests)));
const hasRate = plan.nanoseconds !== null;
const executor = hasRate
  ? {
      executor: 'constant-arrival-rate',
      rate: 1,
      timeUnit: `${plan.nanoseconds}ns`,
      preAllocatedVUs: plan.clients,
      maxVUs: plan.clients,
    }
  : { executor: 'constant-vus', vus: plan.clients };

export const options = {
  scenarios: {
    race: {
      ...executor,
      duration: `${plan.milliseconds}ms`,
      // The last requests end by themselves, at the latest by their timeout.
      gracefulStop: `${plan.timeoutMilliseconds + 5000}ms`,
    },
  },
  discardResponseBodies: true,
  insecureSkipTLSVerify: false,
  systemTags: [],
  userAgent: 'FairLap',
  tlsAuth:
    plan.certificateFile === null ? [] : [{ cert: open(plan.certificateFile), key: open(plan.certificateKeyFile) }],
};

function credentials() {
  const read = (file) => open(file).replace(/[\r\n]+$/, '');
  if (plan.apiKeyFile !== null) {
    const key = read(plan.apiKeyFile).trim();
    return { Authorization: `ApiKey ${key.includes(':') ? b64encode(key) : key}` };
  }
  if (plan.passwordFile === null) {
    return {};
  }
  const user = plan.userFile === null ? plan.user : read(plan.userFile);
  return { Authorization: `Basic ${b64encode(`${user}:${read(plan.passwordFile)}`)}` };
}

const headers = { ...plan.headers, ...credentials() };
const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
const params = {};

function paramsOf(type) {
  const key = type === null || hasType ? '' : type;
  if (params[key] === undefined) {
    params[key] = {
      headers: key === '' ? headers : { ...headers, 'Content-Type': key },
      redirects: 0,
      timeout: `${plan.timeoutMilliseconds}ms`,
    };
  }
  return params[key];
}

// The finalizer of MurmurHash3.
function mix(value) {
  let it = (value + 0x9e3779b9) | 0;
  it = Math.imul(it ^ (it >>> 16), 0x85ebca6b);
  it = Math.imul(it ^ (it >>> 13), 0xc2b2ae35);
  return it ^ (it >>> 16);
}

// A number from 0 to below 1 that seed, client and number of the request decide: the same in every race.
function lot(client, number, draw) {
  return (mix(mix(mix(mix(plan.seed) ^ client) ^ number) ^ draw) >>> 0) / 4294967296;
}

function chosen(client, number) {
  if (plan.order === 'file') {
    // In a closed loop each client sends every n-th line; in an open one its number is that of all.
    const place = hasRate ? number : client + number * plan.clients;
    return requests[place % requests.length];
  }
  const first = requests[Math.floor(lot(client, number, 0) * requests.length)];
  return plan.order === 'random' || lot(client, number, 1) < first[4] ? first : requests[first[5]];
}

// The hosts in turn; in the file's order one further on whenever each would get the lines again that it had.
function hostOf(client, number) {
  const shift = plan.order === 'file' ? Math.floor(number / plan.shiftAfter) : 0;
  return (client + number + shift) % plan.hosts.length;
}

let client = -1;
let sent = 0;
// Asked for once: k6 makes each of these objects anew.
let scenario = null;
let instance = null;

// Milliseconds since the load began, by a clock that nobody sets; from its planned end on always that moment. All other
// times of k6, currentTestRunDuration and those of a request, are by the wall clock.
function sinceBegin() {
  return scenario.progress * plan.milliseconds;
}

export default function () {
  if (client < 0) {
    client = exec.vu.idInTest - 1;
    scenario = exec.scenario;
    instance = exec.instance;
  }
  const number = hasRate ? scenario.iterationInTest : sent++;
  const host = hostOf(hasRate ? 0 : client, number);
  const [method, path, body, type] = chosen(hasRate ? 0 : client, number);
  const url = plan.hosts[host] + path;
  const settings = paramsOf(type);
  const epoch = Date.now();
  const start = sinceBegin();
  const wall = instance.currentTestRunDuration;
  let status = 0;
  let code = 1000;
  let times = null;
  try {
    const answer = http.request(method, url, body, settings);
    status = answer.status;
    code = answer.error_code;
    times = answer.timings;
  } catch (error) {
    code = 1000;
  }
  const end = sinceBegin();
  const byWall = instance.currentTestRunDuration - wall;
  const around = end < plan.milliseconds ? end - start : byWall;
  const took = times === null ? -1 : times.blocked + times.duration;
  // Where a kept connection breaks Go sends a GET again: k6 counts making the new one twice, and as no connecting.
  const again = times !== null && took > around && times.duration <= around;
  const opened = again || (times !== null && times.connecting !== 0) ? 1 : 0;
  console.log(`${client},${host},${epoch},${start},${took},${around},${status},${code},${number},${opened}`);
}
