package standin;

import java.util.Locale;

/** The target types of the convert processor: integer, long, float, double, boolean and string. */
enum Conversion {
    INTEGER {
        @Override
        Object of(Object value) {
            return value instanceof Number ? Math.toIntExact(((Number) value).longValue()) : Integer.decode(value.toString());
        }
    },
    LONG {
        @Override
        Object of(Object value) {
            return value instanceof Number ? ((Number) value).longValue() : Long.decode(value.toString());
        }
    },
    FLOAT {
        @Override
        Object of(Object value) {
            return Float.parseFloat(value.toString());
        }
    },
    DOUBLE {
        @Override
        Object of(Object value) {
            return Double.parseDouble(value.toString());
        }
    },
    BOOLEAN {
        @Override
        Object of(Object value) {
            String text = value.toString().toLowerCase(Locale.ROOT);
            if (text.equals("true") == false && text.equals("false") == false) {
                throw new IllegalArgumentException("[" + value + "] is not a boolean value, cannot convert to boolean");
            }
            return text.equals("true");
        }
    },
    STRING {
        @Override
        Object of(Object value) {
            return value.toString();
        }
    };

    abstract Object of(Object value);

    static Conversion named(String type) {
        try {
            return valueOf(type.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("type [" + type + "] not supported, cannot convert field.");
        }
    }
}
