"""Prints the scores that a model of `export.py` gives the items of an answer of `rankwright rank --explain`: scores.py FOLDER MODEL ANSWER"""

import json
import math
import os
import sys

import lightgbm
import numpy
import xgboost


def values(feature):
    value = feature["value"]
    return [math.nan if one is None else one for one in (value if isinstance(value, list) else [value])]


def main():
    folder, model, answer = sys.argv[1:]
    items = json.load(open(answer))["items"]
    rows = numpy.array([[one for feature in item["features"] for one in values(feature)] for item in items], numpy.float32)
    if model == "xgboost":
        booster = xgboost.Booster(model_file=os.path.join(folder, "tuned.ubj"))
        names, types = booster.feature_names, booster.feature_types
        data = xgboost.DMatrix(rows, feature_names=names, feature_types=types, enable_categorical=True)
        scores = booster.predict(data, output_margin=True)
    else:
        booster = lightgbm.Booster(model_file=os.path.join(folder, "tuned.txt"))
        group = numpy.zeros((len(rows), 1), numpy.float32)
        scores = booster.predict(numpy.hstack([group, rows]), raw_score=True)
    print(json.dumps([float(score) for score in scores]))


main()
