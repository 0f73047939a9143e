package standin;

import org.elasticsearch.Build;
import org.elasticsearch.action.ActionType;
import org.elasticsearch.action.admin.cluster.state.ClusterStateAction;
import org.elasticsearch.action.admin.cluster.state.ClusterStateRequest;
import org.elasticsearch.action.admin.cluster.state.ClusterStateResponse;
import org.elasticsearch.core.TimeValue;

/** The few signatures that changed between 8.6 and 9.0, found by reflection so that one jar serves them all. */
final class Versions {
    private Versions() {}

    /** Up to 8.7 the server itself answers {@code GET /}, and a second handler would be refused. */
    static boolean rootIsAModule() {
        String[] parts = build("version").split("[.-]");
        int major = Integer.parseInt(parts[0]);
        return major > 8 || Integer.parseInt(parts[1]) >= 8;
    }

    /** A fact of this build (version, hash, date, minWireCompatVersion ...); empty where this version has no such fact. */
    static String build(String fact) {
        try {
            return String.valueOf(Build.class.getMethod(fact).invoke(current()));
        } catch (NoSuchMethodException e) {
            return "";
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Object current() throws ReflectiveOperationException {
        try {
            return Build.class.getMethod("current").invoke(null);
        } catch (NoSuchMethodException e) {
            return Build.class.getField("CURRENT").get(null);
        }
    }

    /** The action's constant had a type of its own before it became a plain ActionType. */
    @SuppressWarnings("unchecked")
    static ActionType<ClusterStateResponse> stateAction() {
        try {
            return (ActionType<ClusterStateResponse>) ClusterStateAction.class.getField("INSTANCE").get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The cluster's metadata as this node knows it; 9.0 wants the time to wait for a master in the constructor. */
    static ClusterStateRequest localMetadataRequest() {
        try {
            return newStateRequest().clear().metadata(true).local(true);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static ClusterStateRequest newStateRequest() throws ReflectiveOperationException {
        try {
            return ClusterStateRequest.class.getConstructor(TimeValue.class).newInstance(TimeValue.timeValueSeconds(30));
        } catch (NoSuchMethodException e) {
            return ClusterStateRequest.class.getConstructor().newInstance();
        }
    }
}
