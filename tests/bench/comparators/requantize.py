"""requantize.py WEIGHTS KIND OUT: copies a GGUF file of Q4_1 weights with these as another type, such as Q5_0, or (`pruned`) without 3 layers."""

import sys

from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, dequantize, quantize

source, kind, out = sys.argv[1:]
left_out = {9, 15, 21} if kind == "pruned" else set()
reader, writer = GGUFReader(source), GGUFWriter(out, "llama")
for name, field in reader.fields.items():
    if name.startswith("GGUF.") or name == "general.architecture":
        continue
    value = field.contents() - len(left_out) if name == "llama.block_count" else field.contents()
    writer.add_key_value(name, value, field.types[0], field.types[1] if len(field.types) > 1 else None)
for tensor in reader.tensors:
    name, data, own = tensor.name, tensor.data, tensor.tensor_type
    if name.startswith("blk."):
        at = int(name.split(".")[1])
        if at in left_out:
            continue
        name = name.replace(f"blk.{at}.", f"blk.{at - sum(one < at for one in left_out)}.")
    if own == GGMLQuantizationType.Q4_1 and kind != "pruned":
        own = GGMLQuantizationType[kind]
        data = quantize(dequantize(data, tensor.tensor_type), own)
    writer.add_tensor(name, data, raw_dtype=own)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
