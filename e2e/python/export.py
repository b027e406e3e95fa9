"""Trains on the files of `rankwright export` by the code of its page, and prints the NDCG on the test split: export.py FOLDER PAGE

The folder is `training`, as on the page.
"""

import os
import sys

import pyarrow.parquet


def scripts(page):
    blocks = open(page).read().split("\n```python\n")[1:]
    return [block.split("\n```")[0] for block in blocks]


def check_parquet(side, rows, columns):
    table = pyarrow.parquet.read_table(f"{side}.parquet")
    assert table.num_rows == rows, (table.num_rows, rows)
    assert table.column_names[:2] == ["label", "group"] and len(table.column_names) == columns + 2, table.column_names
    return table


def by_category(trees):
    nodes = [tree["tree_structure"] for tree in trees]
    while nodes:
        node = nodes.pop()
        nodes.extend(node[side] for side in ("left_child", "right_child") if side in node)
        if node.get("decision_type") == "==":
            yield node


def main():
    with_xgboost, with_lightgbm, with_pandas = scripts(sys.argv[2])
    os.chdir(sys.argv[1])
    names = {}
    exec(with_xgboost, names)
    matrix = names["train"]
    print("xgboost", names["model"].best_score)
    exec(with_lightgbm, names)
    booster = names["model"]
    (best,) = booster.best_score["valid_0"].values()
    print("lightgbm", best)
    table = check_parquet("train", matrix.num_row(), matrix.num_col())
    os.chdir("..")
    exec(with_pandas, names)
    assert names["table"].shape == (table.num_rows, table.num_columns), names["table"].shape
    # the same values under both forms
    parsed = matrix.get_data()
    for index, name in enumerate(table.column_names[2:]):
        present = parsed[:, index].nnz if hasattr(parsed, "nnz") else 0
        assert len(table) - table[name].null_count == present, (name, present)
    # LightGBM counts the group as a column that it ignores
    categories = {booster.feature_name()[node["split_feature"]] for node in by_category(booster.dump_model()["tree_info"])}
    assert categories and categories <= {name for name, kind in zip(names["names"], names["types"]) if kind == "c"}, categories
    assert [name for name in booster.feature_name() if name != "group"] == list(matrix.feature_names)
    print("columns", matrix.num_col())


main()
