"""Trains on the files of `rankwright export` as they stand, and prints the NDCG on the test split: export.py FOLDER"""

import os
import sys

import lightgbm
import pyarrow.parquet
import xgboost


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def options(path):
    lines = [line for line in open(path) if not line.startswith("#")]
    return {name: value(text) for name, text in (line.rstrip("\n").split(" = ", 1) for line in lines)}


def with_xgboost():
    params = options("xgboost.conf")
    columns = [line.rstrip("\n").split("\t") for line in open("featmap.txt")]
    names, types = [name for _, name, _ in columns], [kind for _, _, kind in columns]

    def data(uri):
        return xgboost.DMatrix(uri, feature_names=names, feature_types=types, enable_categorical=True)

    train, test = data(params.pop("data")), data(params.pop("eval[test]"))
    rounds, patience, results = params.pop("num_round"), params.pop("early_stopping_rounds"), {}
    evaluated = dict(evals=[(test, "test")], evals_result=results, verbose_eval=False)
    xgboost.train(params, train, rounds, early_stopping_rounds=patience, **evaluated)
    (values,) = results["test"].values()
    return train, max(values)


def with_lightgbm():
    params = options("lightgbm.conf")
    path, valid = params.pop("data"), params.pop("valid")
    train = lightgbm.Dataset(path, params=params)
    test = lightgbm.Dataset(valid, params=params, reference=train)
    booster = lightgbm.train(params, train, valid_sets=[test], valid_names=["test"])
    (best,) = booster.best_score["test"].values()
    return booster, best


def check_parquet(side, rows, columns):
    table = pyarrow.parquet.read_table(f"{side}.parquet")
    assert table.num_rows == rows, (table.num_rows, rows)
    assert table.column_names[:2] == ["label", "group"] and len(table.column_names) == columns + 2, table.column_names
    return table


def main():
    os.chdir(sys.argv[1])
    matrix, ndcg = with_xgboost()
    print("xgboost", ndcg)
    booster, ndcg = with_lightgbm()
    print("lightgbm", ndcg)
    table = check_parquet("train", matrix.num_row(), matrix.num_col())
    # the same values under both forms
    parsed = matrix.get_data()
    for index, name in enumerate(table.column_names[2:]):
        present = parsed[:, index].nnz if hasattr(parsed, "nnz") else 0
        assert len(table) - table[name].null_count == present, (name, present)
    # LightGBM counts the group as a column that it ignores
    categories = [tree["num_cat"] for tree in booster.dump_model()["tree_info"]]
    assert "categorical_feature" not in options("lightgbm.conf") or any(categories), "categories are amounts"
    assert [name for name in booster.feature_name() if name != "group"] == matrix.feature_names
    print("columns", matrix.num_col())


main()
