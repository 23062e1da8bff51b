"""Arrow columns to the one text per type that readers/reader.ts defines (CanonicalRow)."""
import json
import struct

import pyarrow as pa
import pyarrow.types as t

NAN_BITS = "7ff8000000000000"


def rows(columns):
    """[(name, ChunkedArray or Array)] -> (names, list of rows of text or None)."""
    names = [name for name, _ in columns]
    if not columns:
        return names, []
    return names, [list(row) for row in zip(*(texts(column) for _, column in columns))]


def texts(column):
    """One column -> list of canonical text, None for NULL."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [text for chunk in chunks for text in _array(chunk)]


def _array(array):
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return [None if v is None else _uuid(v) for v in array.storage.to_pylist()]
        return _array(array.storage)
    if t.is_dictionary(kind):
        return _array(array.dictionary_decode())
    if t.is_null(kind):
        return [None] * len(array)
    if t.is_boolean(kind):
        return _each(array, lambda v: "true" if v else "false")
    if t.is_integer(kind):
        return _each(array, str)
    if t.is_floating(kind):
        return _each(array, _double)
    if t.is_decimal(kind):
        return _each(array, lambda v: format(v, "f"))
    if t.is_date32(kind):
        return _each(array.cast(pa.int32()), str)
    if t.is_timestamp(kind) or t.is_time64(kind):
        if kind.unit != "us":
            raise TypeError(f"no canonical text for {kind}: microseconds expected")
        return _each(array.cast(pa.int64()), str)
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return array.to_pylist()
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind):
        return _each(array, bytes.hex)
    # Before lists: Arrow counts a map as a list of structs.
    if t.is_map(kind):
        keys, items = _array(array.keys), _array(array.items)
        return _spans(array, lambda a, b: sorted(zip(keys[a:b], items[a:b]), key=lambda pair: pair[0]))
    if t.is_list(kind) or t.is_large_list(kind):
        elements = _array(array.values)
        return _spans(array, lambda a, b: elements[a:b])
    if t.is_struct(kind):
        fields = [(kind.field(i).name, _array(array.field(i))) for i in range(kind.num_fields)]
        return [_json({name: column[i] for name, column in fields}) if valid else None for i, valid in enumerate(array.is_valid().to_pylist())]
    raise TypeError(f"no canonical text for {kind}")


def _each(array, text):
    return [None if v is None else text(v) for v in array.to_pylist()]


def _spans(array, content):
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [_json(content(offsets[i], offsets[i + 1])) if valid[i] else None for i in range(len(array))]


def _double(value):
    return NAN_BITS if value != value else struct.pack(">d", value).hex()


def _uuid(value):
    text = value.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
