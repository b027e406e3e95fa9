#!/usr/bin/env python3
"""Writes reference.json: what ONNX Runtime and tokenizers from PyPI compute, one text at a time.

  pip install onnxruntime==1.31.1 tokenizers==0.23.2 numpy
  python3 reference.py FOLDER      # that native/fetch.sh filled
"""
import json
import pathlib
import sys

import numpy
import onnxruntime
import tokenizers

TEXTS = """
red running shoes for women
Laufschuhe für Damen, rot
chaussures de course rouges pour femme
zapatillas rojas para correr
scarpe da corsa rosse
czerwone buty do biegania
красные кроссовки для бега
κόκκινα παπούτσια για τρέξιμο
kırmızı koşu ayakkabısı İstanbul
أحذية جري حمراء
נעלי ריצה אדומות
लाल दौड़ने के जूते
红色跑步鞋
赤いランニングシューズ
빨간 운동화
รองเท้าวิ่งสีแดง
a
I
42
3.14159 and 2,718 are numbers
iPhone 17 Pro Max 256GB (black/titanium)
C++ vs. Rust: which one is faster?
naïve café résumé coöperate
e\u0301te\u0301 is not été
ﬁne ligatures ﬀ and ① ② ③
ＦＵＬＬＷＩＤＴＨ ｔｅｘｔ
👟🔥 new drop!!! 👟🔥
👨‍👩‍👧‍👦 family tent
tab\tand   several    spaces
[CLS] marks in a text [SEP] are tokens [MASK]
don't can't won't it's
state-of-the-art noise-cancelling over-ear headphones
https://example.com/shop?item=1&colour=red#reviews
user@example.com
SELECT * FROM items WHERE price < 10;
<b>bold</b> &amp; <i>italic</i>
supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis
the cat sat on the mat
the dog slept under the table
A film about a detective who loses his memory
Comedy|Romance|Drama (1994)
quick brown foxes jump over lazy dogs while nobody watches them from the window of the old house
Waterproof hiking boots with a wide toe box, a rubber sole and a padded collar; resoleable, 1.1 kg a pair
""".strip().split("\n")
TEXTS = [text.replace("\\t", "\t").replace("\\u0301", "\u0301") for text in TEXTS] + [
    "",
    " \t\n ",
    "zero\u0000byte and \u0007 bell \u200b space of no width",
    "x" * 300,
    "long text " * 30,
    "one of many words in a row that goes on and on " * 40,
    "混合 mixed текст κείμενο 文字 " * 20,
]
PAIRS = [(TEXTS[0], TEXTS[index]) for index in (1, 2, 12, 20, 38, 42)] + [
    ("", ""), (TEXTS[48], TEXTS[0]), (TEXTS[0], TEXTS[48]), (TEXTS[48], TEXTS[48])]
KEPT = 8


def model(folder, name):
    base = pathlib.Path(folder) / "models/test" / name
    tokenizer = tokenizers.Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(base / "model.onnx"), options, providers=["CPUExecutionProvider"])

    def run(output, *text):
        encoding = tokenizer.encode(*text)
        parts = encoding.ids, encoding.attention_mask, encoding.type_ids
        inputs = [numpy.array([part], dtype=numpy.int64) for part in parts]
        return session.run([output], dict(zip(("input_ids", "attention_mask", "token_type_ids"), inputs)))[0][0]

    return run


def embedding(run, text):
    mean = run("last_hidden_state", text).mean(axis=0)
    return mean / numpy.linalg.norm(mean)


def short(vector):
    return [round(float(value), 5) for value in vector[:KEPT]]


if __name__ == "__main__":
    exact, small, cross = (model(sys.argv[1], "minilm-" + name) for name in ("f32", "int8", "cross"))
    texts = [{"text": text, "f32": short(embedding(exact, text)), "int8": short(embedding(small, text))} for text in TEXTS]
    pairs = [{"query": query, "document": document, "score": round(float(cross("logits", query, document)[0]), 5)}
             for query, document in PAIRS]
    lines = lambda entries: "[\n" + ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]"
    target = pathlib.Path(__file__).with_name("reference.json")
    target.write_text(f'{{"texts": {lines(texts)}, "pairs": {lines(pairs)}}}\n')
