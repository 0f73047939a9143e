"""The report's style sheet: light and dark, phone and paper; nothing in it is loaded from anywhere."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root{--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--panel:#f6f8fa;--grid:#e3e7eb;--link:#0550ae;
--good:#0b6b3a;--bad:#a4161a;--even:#2f4858;--mixed:#6b3fa0;--open:#7a4f01;--band:#b9c1ca;--margin:#8250df;
--v0:#3d444d;--v1:#0a5fb4;--v2:#b5470a;--v3:#0b7358;--v4:#9a3f86;--v5:#7d5b00;--v6:#5a51c8;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--bg:#0f1419;--fg:#e6edf3;--soft:#a3adb8;--line:#3a434d;--panel:#171e26;
--grid:#27303a;--link:#79b8ff;--good:#56d38a;--bad:#ff8f8a;--even:#a9c4d6;--mixed:#cda8ff;--open:#f0bd5a;--band:#56616d;
--margin:#c79bff;--v0:#c9d1d9;--v1:#6cb6ff;--v2:#ff9d63;--v3:#4fd0aa;--v4:#f0a0de;--v5:#e3c04e;--v6:#b3acff}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
overflow-wrap:anywhere}
header,main,footer{max-width:1120px;margin:0 auto;padding:0 16px}
header{padding-top:20px}
h1{font-size:1.7rem;line-height:1.2;margin:.1em 0 .4em;text-wrap:balance}
h2{font-size:1.3rem;margin:2.2em 0 .5em;padding-top:.5em;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.4em 0 .4em}
p{margin:.5em 0;max-width:75ch}
a{color:var(--link)}
ul{padding-left:1.3em;margin:.5em 0}
li{max-width:75ch;margin:.25em 0}
.kicker,.note,figcaption+svg+details,summary{color:var(--soft)}
.kicker{margin:0}
.note{font-size:.875rem}
table .note{font-size:.95em}
.verdict{font-size:1.25rem;margin:.3em 0;padding:.45em .7em;border-left:6px solid;background:var(--panel);
max-width:none}
.verdict.good{color:var(--good)}.verdict.bad{color:var(--bad)}.verdict.even{color:var(--even)}
.verdict.mixed{color:var(--mixed)}.verdict.open{color:var(--open)}
.headline{font-size:1.1rem}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,9em),1fr));gap:8px;margin:1em 0}
.facts div{border:1px solid var(--line);border-radius:6px;padding:6px 10px}
.facts div:nth-child(-n+2){grid-column:span 2}
dt{font-size:.8rem;color:var(--soft)}
dd{margin:0}
nav ul{display:flex;flex-wrap:wrap;gap:2px 16px;list-style:none;padding:0;font-size:.9rem}
nav li{margin:.3em 0}
.scroll{overflow-x:auto;margin:.6em 0;border:1px solid var(--line);border-radius:6px}
.scroll:focus-visible,pre:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;font-size:.9rem;min-width:100%}
th,td{text-align:left;padding:6px 10px;border-top:1px solid var(--grid);vertical-align:top;max-width:28em;
overflow-wrap:break-word}
td:not(.n){min-width:8.5em}
thead th{border-top:0;background:var(--panel);font-weight:600}
th[scope=row]{font-weight:500;min-width:8.5em;overflow-wrap:anywhere}
.n{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
summary{cursor:pointer;padding:6px 0;font-size:.875rem;min-height:24px}
figure{margin:0;padding:0;min-width:0}
figcaption{font-weight:600;font-size:.95rem;margin-bottom:4px}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:22px 26px;
align-items:start}
svg{display:block;overflow:visible;max-width:100%}
svg.fluid{overflow:hidden;max-width:900px}
.chart{height:auto;max-width:520px}
svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--fg)}
svg .tick{font-size:11px;fill:var(--soft)}
svg .name{font-weight:600;font-size:13px}
svg .said{font-size:12px}
svg .halo{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}
svg .dark{fill:var(--fg)}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
.zero{stroke:var(--fg);stroke-width:1.5}
.margin{stroke:var(--margin);stroke-width:1.5;stroke-dasharray:4 3}
.band{fill:var(--band);fill-opacity:.45}
.interval{stroke:var(--fg);stroke-width:2.5}.estimate{fill:var(--fg);stroke:var(--bg);stroke-width:1.5}
.arrow{font-size:16px}
.block{fill:var(--bg);stroke:var(--fg);stroke-width:1.2}
.join{fill:none;stroke:var(--soft);stroke-width:1;stroke-opacity:.7}
.strip{fill:var(--panel)}.strip.void{fill:none;stroke:var(--soft);stroke-dasharray:4 3}
.line{fill:none;stroke-width:2}
.area{stroke:none;fill-opacity:.13}
.mark{stroke:var(--bg);stroke-width:1}
.mark.hollow{fill:var(--bg);stroke:var(--v0);stroke-width:1.8}
.lost{stroke:var(--bad);stroke-width:2;fill:none}
.v0{fill:var(--v0)}.v1{fill:var(--v1)}.v2{fill:var(--v2)}.v3{fill:var(--v3)}.v4{fill:var(--v4)}.v5{fill:var(--v5)}
.v6{fill:var(--v6)}
.line.v0{fill:none;stroke:var(--v0)}.line.v1{fill:none;stroke:var(--v1)}.line.v2{fill:none;stroke:var(--v2)}
.line.v3{fill:none;stroke:var(--v3)}.line.v4{fill:none;stroke:var(--v4)}.line.v5{fill:none;stroke:var(--v5)}
.line.v6{fill:none;stroke:var(--v6)}
.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.9rem}
.legend li{display:flex;align-items:center;gap:6px;margin:0}
pre{overflow:auto;background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:12px;font-size:.85rem;
max-height:40em}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{padding-bottom:40px;color:var(--soft);font-size:.875rem}
@media print{
:root{--bg:#fff;--fg:#000;--soft:#444;--line:#999;--panel:#f4f4f4;--grid:#ddd;--link:#000;color-scheme:light;
--good:#0b6b3a;--bad:#a4161a;--even:#2f4858;--mixed:#6b3fa0;--open:#7a4f01;--band:#b9c1ca;--margin:#8250df;
--v0:#3d444d;--v1:#0a5fb4;--v2:#b5470a;--v3:#0b7358;--v4:#9a3f86;--v5:#7d5b00;--v6:#5a51c8}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
@page{margin:14mm 12mm}
body{font-size:10.5pt}
header,main,footer{max-width:none;padding:0}
nav,details.raw{display:none}
details::details-content{content-visibility:visible;display:block;height:auto}
details>summary{list-style:none}
.scroll,pre{overflow:visible;max-height:none;border:0}
pre{white-space:pre-wrap}
table{font-size:7.5pt;width:100%;table-layout:auto}
th,td,th.n,td.n,td:not(.n){min-width:0;white-space:normal;overflow-wrap:anywhere;padding:2px 4px}
th[scope=row]{min-width:0}
tr,figure>svg,.facts div{break-inside:avoid}
h2,h3,figcaption{break-after:avoid}
.charts{grid-template-columns:1fr 1fr}
}
"""
