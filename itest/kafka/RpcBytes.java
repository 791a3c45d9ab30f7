import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.protocol.types.*;

/**
 * Prints bodies of all requests and responses, at every version that Apache Kafka serves, as its
 * own classes write them: key, kind, version, variant, hex. The variants are
 *
 *   full  every field has a value of its own, tagged ones too, and every list two elements
 *   null  likewise, but what may be null is
 *   min   what a new message has
 */
public class RpcBytes {
    /** A batch with one record, for fields that hold records. */
    static final byte[] BATCH = HexFormat.of().parseHex(
        "000000000012d6870000004500000005027024a7ee0000000000010000018bcfe568000000018bcfe"
        + "56801ffffffffffffffffffffffffffff0000000214000000046b3104763100100002020104763200");

    static int count; // of the fields of a body, so that no two have the same value

    public static void main(String[] args) {
        var types = new ArrayList<>(List.of(ApiMessageType.values()));
        types.sort(Comparator.comparing(ApiMessageType::apiKey));
        for (var type : types) {
            for (boolean request : new boolean[] {true, false}) {
                for (short v = type.lowestSupportedVersion(); v <= type.highestSupportedVersion(false); v++) {
                    for (String variant : List.of("full", "null", "min")) {
                        System.out.printf("%d\t%s\t%d\t%s\t%s%n", type.apiKey(), request ? "request" : "response", v, variant,
                            HexFormat.of().formatHex(body(type, request, v, variant)));
                    }
                }
            }
        }
    }

    static byte[] body(ApiMessageType type, boolean request, short version, String variant) {
        ApiMessage message = request ? type.newRequest() : type.newResponse();
        if (variant.equals("min")) return write(message, version);
        count = 0;
        Schema schema = (request ? type.requestSchemas() : type.responseSchemas())[version];
        Struct struct = struct(schema, variant.equals("null"));
        ByteBuffer filled = ByteBuffer.allocate(schema.sizeOf(struct));
        schema.write(filled, struct);
        message.read(new ByteBufferAccessor(filled.flip()), version);
        if (filled.hasRemaining()) throw new IllegalStateException(type + " v" + version + ": bytes are left");
        return write(message, version);
    }

    static byte[] write(ApiMessage message, short version) {
        ByteBuffer out = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return bytes;
    }

    static Struct struct(Schema schema, boolean nulls) {
        Struct struct = new Struct(schema);
        for (BoundField field : schema.fields()) struct.set(field, value(field.def.type, nulls));
        return struct;
    }

    /** A value of a type that no other field of the body has. */
    static Object value(Type type, boolean nulls) {
        if (nulls && type.isNullable()) return null;
        int n = ++count;
        if (type instanceof Schema schema) return struct(schema, nulls);
        if (type instanceof TaggedFields tagged) {
            var values = new TreeMap<Integer, Object>();
            tagged.fields().forEach((tag, field) -> values.put(tag, value(field.type, nulls)));
            return values;
        }
        if (type.arrayElementType().isPresent()) {
            Type element = type.arrayElementType().get();
            return new Object[] {value(element, nulls), value(element, nulls)};
        }
        String name = type.toString();
        if (name.endsWith("RECORDS")) return org.apache.kafka.common.record.internal.MemoryRecords.readableRecords(ByteBuffer.wrap(BATCH));
        if (name.endsWith("STRING")) return "text-" + n;
        if (name.endsWith("BYTES")) return ByteBuffer.wrap(new byte[] {(byte) n, 0, (byte) 0xff});
        return switch (name) {
            case "BOOLEAN" -> true;
            case "INT8" -> (byte) (n % 127 + 1);
            case "INT16" -> (short) (n % 100 + 1);
            case "UINT16" -> 9000 + n;
            case "INT32" -> 100_000 + n;
            case "UINT32" -> 3_000_000_000L + n;
            case "INT64" -> 5_000_000_000L + n;
            case "FLOAT64" -> n + 0.5;
            case "UUID" -> new Uuid(n, 7);
            default -> throw new IllegalArgumentException(name);
        };
    }
}
