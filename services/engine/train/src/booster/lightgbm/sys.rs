//! The part of LightGBM's C API that we call (4.7.0, `LightGBM/c_api.h`). Functions return 0, or -1 where
//! [`LGBM_GetLastError`] has a message.

use std::ffi::{c_char, c_int, c_void};

/// A data set.
pub(super) type DatasetHandle = *mut c_void;
/// A model.
pub(super) type BoosterHandle = *mut c_void;

pub(super) const C_API_DTYPE_FLOAT32: c_int = 0;
pub(super) const C_API_DTYPE_INT32: c_int = 2;
pub(super) const C_API_PREDICT_RAW_SCORE: c_int = 1;
pub(super) const C_API_PREDICT_CONTRIB: c_int = 3;
pub(super) const C_API_FEATURE_IMPORTANCE_GAIN: c_int = 1;

#[link(name = "_lightgbm")]
unsafe extern "C" {
    pub(super) fn LGBM_GetLastError() -> *const c_char;
    pub(super) fn LGBM_RegisterLogCallback(callback: Option<unsafe extern "C" fn(*const c_char)>) -> c_int;

    pub(super) fn LGBM_SampleIndices(
        rows: i32,
        parameters: *const c_char,
        indices: *mut c_void,
        count: *mut i32,
    ) -> c_int;
    pub(super) fn LGBM_DatasetCreateFromSampledColumn(
        values: *mut *mut f64,
        indices: *mut *mut c_int,
        columns: i32,
        counts: *const c_int,
        sampled_rows: i32,
        local_rows: i32,
        all_rows: i64,
        parameters: *const c_char,
        out: *mut DatasetHandle,
    ) -> c_int;
    pub(super) fn LGBM_DatasetCreateByReference(
        reference: DatasetHandle,
        all_rows: i64,
        out: *mut DatasetHandle,
    ) -> c_int;
    pub(super) fn LGBM_DatasetPushRows(
        dataset: DatasetHandle,
        data: *const c_void,
        data_type: c_int,
        rows: i32,
        columns: i32,
        first_row: i32,
    ) -> c_int;
    pub(super) fn LGBM_DatasetSetField(
        dataset: DatasetHandle,
        field: *const c_char,
        data: *const c_void,
        length: c_int,
        data_type: c_int,
    ) -> c_int;
    pub(super) fn LGBM_DatasetFree(dataset: DatasetHandle) -> c_int;

    pub(super) fn LGBM_BoosterCreate(train: DatasetHandle, parameters: *const c_char, out: *mut BoosterHandle)
    -> c_int;
    pub(super) fn LGBM_BoosterAddValidData(booster: BoosterHandle, test: DatasetHandle) -> c_int;
    pub(super) fn LGBM_BoosterUpdateOneIter(booster: BoosterHandle, finished: *mut c_int) -> c_int;
    pub(super) fn LGBM_BoosterGetEval(
        booster: BoosterHandle,
        data: c_int,
        count: *mut c_int,
        values: *mut f64,
    ) -> c_int;
    pub(super) fn LGBM_BoosterFeatureImportance(
        booster: BoosterHandle,
        iterations: c_int,
        kind: c_int,
        values: *mut f64,
    ) -> c_int;
    pub(super) fn LGBM_BoosterSaveModelToString(
        booster: BoosterHandle,
        first_iteration: c_int,
        iterations: c_int,
        importance: c_int,
        room: i64,
        length: *mut i64,
        out: *mut c_char,
    ) -> c_int;
    pub(super) fn LGBM_BoosterLoadModelFromString(
        model: *const c_char,
        iterations: *mut c_int,
        out: *mut BoosterHandle,
    ) -> c_int;
    pub(super) fn LGBM_BoosterPredictForMat(
        booster: BoosterHandle,
        data: *const c_void,
        data_type: c_int,
        rows: i32,
        columns: i32,
        row_major: c_int,
        kind: c_int,
        first_iteration: c_int,
        iterations: c_int,
        parameters: *const c_char,
        length: *mut i64,
        scores: *mut f64,
    ) -> c_int;
    pub(super) fn LGBM_BoosterFree(booster: BoosterHandle) -> c_int;
}
