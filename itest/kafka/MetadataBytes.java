import java.io.*;
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.image.*;
import org.apache.kafka.image.writer.*;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.util.BatchFileReader;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Reads metadata with Apache Kafka's classes and writes it again.
 *
 *   records        reads lines "metadata HEX" and "TYPE HEX", where TYPE is the number of a
 *                  control record, and prints the bytes that Kafka writes for each
 *   image FILE...  loads each snapshot and prints "= FILE" and the records of its image,
 *                  a line of hex each
 */
public class MetadataBytes {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("records")) records();
        for (int i = 1; i < args.length; i++) image(args[i]);
    }

    static void records() throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            byte[] value = HexFormat.of().parseHex(words.length > 1 ? words[1] : "");
            System.out.println(words[0].equals("metadata") ? metadata(value) : control(Short.parseShort(words[0]), value));
        }
    }

    static String metadata(byte[] value) {
        return hex(MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(ByteBuffer.wrap(value)), value.length));
    }

    static String hex(ApiMessageAndVersion record) {
        var cache = new ObjectSerializationCache();
        var to = new ByteBufferAccessor(ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache)));
        MetadataRecordSerde.INSTANCE.write(record, cache, to);
        return HexFormat.of().formatHex(to.buffer().array());
    }

    static String control(short type, byte[] value) {
        var in = ByteBuffer.wrap(value);
        short version = in.getShort(0); // every control record begins with it
        Message record = switch (ControlRecordType.fromTypeId(type)) {
            case LEADER_CHANGE -> ControlRecordUtils.deserializeLeaderChangeMessage(in);
            case SNAPSHOT_HEADER -> ControlRecordUtils.deserializeSnapshotHeaderRecord(in);
            case SNAPSHOT_FOOTER -> ControlRecordUtils.deserializeSnapshotFooterRecord(in);
            case KRAFT_VERSION -> ControlRecordUtils.deserializeKRaftVersionRecord(in);
            case KRAFT_VOTERS -> ControlRecordUtils.deserializeVotersRecord(in);
            default -> throw new IllegalArgumentException("control record of type " + type);
        };
        var out = MessageUtil.toByteBufferAccessor(record, version).buffer();
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    static void image(String file) throws Exception {
        var delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        try (var reader = new BatchFileReader.Builder().setPath(file).build()) {
            while (reader.hasNext()) {
                var batch = reader.next();
                if (!batch.isControl()) {
                    for (ApiMessageAndVersion record : batch.batch().records()) delta.replay(record.message());
                }
            }
        }
        delta.finishSnapshot();
        var image = delta.apply(MetadataProvenance.EMPTY);
        var records = new RecordListWriter();
        image.write(records, new ImageWriterOptions.Builder(image).build());
        System.out.println("= " + file);
        for (ApiMessageAndVersion record : records.records()) System.out.println(hex(record));
    }
}
