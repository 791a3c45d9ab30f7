import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/**
 * Calls every describe and list method of Kafka's Admin once and prints one line for each:
 * its name, "ok" or the class of the error, and the value or message.
 *
 * <p>Arguments: bootstrap servers, a topic with partition 0, a classic group with commits, a broker's id.
 */
public class AdminCalls {
    interface Call { Object run() throws Exception; }

    static final long PATIENCE_SECONDS = 20;

    public static void main(String[] args) throws Exception {
        String topic = args[1], group = args[2];
        int node = Integer.parseInt(args[3]);
        TopicPartition tp = new TopicPartition(topic, 0);
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("default.api.timeout.ms", "15000");
        p.put("request.timeout.ms", "10000");
        try (Admin a = Admin.create(p)) {
            say("listTopics", () -> a.listTopics(new ListTopicsOptions().listInternal(true)).names().get(PATIENCE_SECONDS, TimeUnit.SECONDS));
            say("describeTopics", () -> get(a.describeTopics(List.of(topic)).allTopicNames()));
            say("describeCluster", () -> get(a.describeCluster().nodes()));
            say("describeClusterControllers", () -> get(a.describeCluster(new DescribeClusterOptions()).controller()));
            say("describeAcls", () -> get(a.describeAcls(AclBindingFilter.ANY).values()));
            say("describeConfigs topic", () -> get(a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, topic))).all()).size());
            say("describeConfigs broker", () -> get(a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.BROKER, "" + node))).all()).size());
            say("describeConfigs logger", () -> get(a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "" + node))).all()).size());
            say("describeConfigs group", () -> get(a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.GROUP, group))).all()).size());
            say("describeConfigs metrics", () -> get(a.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "none"))).all()).size());
            say("describeLogDirs", () -> get(a.describeLogDirs(List.of(node)).allDescriptions()));
            say("describeReplicaLogDirs", () -> get(a.describeReplicaLogDirs(List.of(new TopicPartitionReplica(topic, 0, node))).all()));
            say("describeDelegationToken", () -> get(a.describeDelegationToken().delegationTokens()));
            say("describeConsumerGroups", () -> get(a.describeConsumerGroups(List.of(group)).all()));
            say("describeClassicGroups", () -> get(a.describeClassicGroups(List.of(group)).all()));
            say("describeShareGroups", () -> get(a.describeShareGroups(List.of("share")).all()));
            say("describeStreamsGroups", () -> get(a.describeStreamsGroups(List.of("streams")).all()));
            say("listConsumerGroups", () -> get(a.listConsumerGroups().all()));
            say("listGroups", () -> get(a.listGroups().all()));
            say("listConsumerGroupOffsets", () -> get(a.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()));
            say("listStreamsGroupOffsets", () -> get(a.listStreamsGroupOffsets(Map.of("streams", new ListStreamsGroupOffsetsSpec())).all()));
            say("listShareGroupOffsets", () -> get(a.listShareGroupOffsets(Map.of("share", new ListShareGroupOffsetsSpec())).all()));
            say("listPartitionReassignments", () -> get(a.listPartitionReassignments().reassignments()));
            say("listOffsets latest", () -> get(a.listOffsets(Map.of(tp, OffsetSpec.latest())).all()));
            say("listOffsets earliest", () -> get(a.listOffsets(Map.of(tp, OffsetSpec.earliest())).all()));
            say("listOffsets maxTimestamp", () -> get(a.listOffsets(Map.of(tp, OffsetSpec.maxTimestamp())).all()));
            say("listOffsets timestamp", () -> get(a.listOffsets(Map.of(tp, OffsetSpec.forTimestamp(0))).all()));
            say("describeClientQuotas", () -> get(a.describeClientQuotas(ClientQuotaFilter.all()).entities()));
            say("describeUserScramCredentials", () -> get(a.describeUserScramCredentials().all()));
            say("describeFeatures", () -> get(a.describeFeatures().featureMetadata()));
            say("describeMetadataQuorum", () -> get(a.describeMetadataQuorum().quorumInfo()));
            say("describeProducers", () -> get(a.describeProducers(List.of(tp)).all()));
            say("describeTransactions", () -> get(a.describeTransactions(List.of("none")).all()));
            say("listTransactions", () -> get(a.listTransactions().all()));
            say("listConfigResources", () -> get(a.listConfigResources().all()));
            say("listClientMetricsResources", () -> get(a.listClientMetricsResources().all()));
        }
    }

    static <T> T get(KafkaFuture<T> f) throws Exception { return f.get(PATIENCE_SECONDS, TimeUnit.SECONDS); }

    static void say(String name, Call call) {
        String result;
        try {
            result = "ok " + call.run();
        } catch (ExecutionException e) {
            result = e.getCause().getClass().getSimpleName() + " " + e.getCause().getMessage();
        } catch (Exception e) {
            result = e.getClass().getSimpleName() + " " + e.getMessage();
        }
        System.out.println(name + ": " + result.replace('\n', ' '));
    }
}
