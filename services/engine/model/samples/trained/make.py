"""Trains the sample models and writes the scores they give. Needs numpy, lightgbm 4.7 and xgboost 3.2."""

import lightgbm
import numpy
import xgboost

QUERIES, ITEMS, COLUMNS, CATEGORICAL = 80, 20, 8, [2, 3]


def data(rows, seed):
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(rows, COLUMNS)).astype(numpy.float32)
    x[:, 1] = numpy.round(x[:, 1] * 2)  # many zeros and ties
    x[:, 2] = random.integers(0, 40, size=rows)
    x[:, 3] = random.integers(0, 6, size=rows)
    x[:, 4] = numpy.where(random.random(rows) < 0.5, 0, numpy.abs(x[:, 4]))
    x[:, 5] = (x[:, 5] * 1e-35).astype(numpy.float32)  # around what LightGBM takes for zero
    x[random.random((rows, COLUMNS)) < 0.1] = numpy.nan
    return x


def labels(x, seed):
    random, known = numpy.random.default_rng(seed), numpy.nan_to_num(x)
    score = known[:, 0] + (known[:, 2] % 7 == 3) * 1.5 + (known[:, 3] == 2) + numpy.isnan(x[:, 4]) * 0.7
    score += (known[:, 1] == 0) * 0.5 + (known[:, 5] > 0)
    return numpy.clip(numpy.round(score + random.normal(size=len(x)) * 0.3), 0, 4).astype(int)


def rows():
    """Rows like those of training, and values that none of them has."""
    x = data(64, 2)
    others = [-1, -0.5, -0.0, 0.5]
    x[0:12, 2] = others + [39.7, 40, 63, 64, 1000, 16777216, 3e9, -3e9]
    x[12:24, 3] = others + [5.7, 6, 31, 32, 1000, 16777216, 3e9, -3e9]
    x[24:32, 1] = [0, -0.0, 1e-35, -1e-35, 1e-40, -1e-40, 2e-35, -2e-35]
    x[32:36, 0] = [3.4e38, -3.4e38, 1e-45, -1e-45]
    return x


def write(name, lines):
    with open(name, "w") as file:
        file.writelines(line + "\n" for line in lines)


x, test = data(QUERIES * ITEMS, 1), rows()
y, queries = labels(x, 3), [ITEMS] * QUERIES
write("rows.csv", (",".join("" if numpy.isnan(v) else repr(float(v)) for v in row) for row in test))

common = dict(objective="lambdarank", num_leaves=12, learning_rate=0.2, min_data_in_leaf=8, min_data_per_group=5, cat_smooth=1)
common |= dict(num_threads=1, deterministic=True, force_row_wise=True, seed=1, verbose=-1)
for name, missing in dict(nan={}, zero=dict(zero_as_missing=True), none=dict(use_missing=False)).items():
    dataset = lightgbm.Dataset(x, y, group=queries, categorical_feature=CATEGORICAL, params=dict(verbose=-1) | missing)
    model = lightgbm.train(common | missing, dataset, num_boost_round=12)
    model.save_model(f"lightgbm-{name}.txt")
    write(f"lightgbm-{name}.scores.txt", ("%.17g" % score for score in model.predict(test)))

types = ["c" if column in CATEGORICAL else "q" for column in range(COLUMNS)]
params = dict(objective="rank:ndcg", eta=0.2, max_depth=5, min_child_weight=0.1, max_cat_to_onehot=4)
params |= dict(tree_method="hist", nthread=1, seed=0)
model = xgboost.train(params, xgboost.DMatrix(x, y, group=queries, feature_types=types, enable_categorical=True), 12)
model.save_model("xgboost.json")
model.save_model("xgboost.ubj")
write("xgboost.scores.txt", ("%.9g" % score for score in model.inplace_predict(test, predict_type="margin")))
