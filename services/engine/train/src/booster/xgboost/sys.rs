//! The part of XGBoost's C API that we call (3.4.0, `xgboost/c_api.h`). Functions return 0, or -1 where
//! [`XGBGetLastError`] has a message.

use std::ffi::{c_char, c_int, c_void};

/// A matrix of data.
pub(super) type DMatrixHandle = *mut c_void;
/// A model.
pub(super) type BoosterHandle = *mut c_void;
/// What callbacks get.
pub(super) type DataIterHandle = *mut c_void;
/// Hands the next batch over: 1, or 0 where there is none.
pub(super) type Next = Option<unsafe extern "C" fn(DataIterHandle) -> c_int>;
/// Begins with the first batch again.
pub(super) type Reset = Option<unsafe extern "C" fn(DataIterHandle)>;

#[link(name = "xgboost")]
unsafe extern "C" {
    pub(super) fn XGBGetLastError() -> *const c_char;
    pub(super) fn XGBSetGlobalConfig(config: *const c_char) -> c_int;

    pub(super) fn XGProxyDMatrixCreate(out: *mut DMatrixHandle) -> c_int;
    pub(super) fn XGProxyDMatrixSetDataDense(proxy: DMatrixHandle, data: *const c_char) -> c_int;
    pub(super) fn XGQuantileDMatrixCreateFromCallback(
        feed: DataIterHandle,
        proxy: DMatrixHandle,
        reference: DataIterHandle,
        reset: Reset,
        next: Next,
        config: *const c_char,
        out: *mut DMatrixHandle,
    ) -> c_int;
    pub(super) fn XGExtMemQuantileDMatrixCreateFromCallback(
        feed: DataIterHandle,
        proxy: DMatrixHandle,
        reference: DataIterHandle,
        reset: Reset,
        next: Next,
        config: *const c_char,
        out: *mut DMatrixHandle,
    ) -> c_int;
    pub(super) fn XGDMatrixSetInfoFromInterface(
        matrix: DMatrixHandle,
        field: *const c_char,
        data: *const c_char,
    ) -> c_int;
    pub(super) fn XGDMatrixSetStrFeatureInfo(
        matrix: DMatrixHandle,
        field: *const c_char,
        values: *mut *const c_char,
        count: u64,
    ) -> c_int;
    pub(super) fn XGDMatrixCreateFromDense(
        values: *const c_char,
        config: *const c_char,
        out: *mut DMatrixHandle,
    ) -> c_int;
    pub(super) fn XGDMatrixNumRow(matrix: DMatrixHandle, out: *mut u64) -> c_int;
    pub(super) fn XGDMatrixFree(matrix: DMatrixHandle) -> c_int;

    pub(super) fn XGBoosterCreate(matrices: *const DMatrixHandle, count: u64, out: *mut BoosterHandle) -> c_int;
    pub(super) fn XGBoosterSetParam(booster: BoosterHandle, name: *const c_char, value: *const c_char) -> c_int;
    pub(super) fn XGBoosterUpdateOneIter(booster: BoosterHandle, round: c_int, train: DMatrixHandle) -> c_int;
    #[cfg(test)]
    pub(super) fn XGBoosterEvalOneIter(
        booster: BoosterHandle,
        round: c_int,
        matrices: *mut DMatrixHandle,
        names: *mut *const c_char,
        count: u64,
        report: *mut *const c_char,
    ) -> c_int;
    pub(super) fn XGBoosterPredictFromDMatrix(
        booster: BoosterHandle,
        matrix: DMatrixHandle,
        config: *const c_char,
        shape: *mut *const u64,
        dimensions: *mut u64,
        scores: *mut *const f32,
    ) -> c_int;
    pub(super) fn XGBoosterPredictFromDense(
        booster: BoosterHandle,
        values: *const c_char,
        config: *const c_char,
        matrix: DMatrixHandle,
        shape: *mut *const u64,
        dimensions: *mut u64,
        scores: *mut *const f32,
    ) -> c_int;
    pub(super) fn XGBoosterFeatureScore(
        booster: BoosterHandle,
        config: *const c_char,
        count: *mut u64,
        names: *mut *mut *const c_char,
        dimensions: *mut u64,
        shape: *mut *const u64,
        scores: *mut *const f32,
    ) -> c_int;
    pub(super) fn XGBoosterSlice(
        booster: BoosterHandle,
        begin: c_int,
        end: c_int,
        step: c_int,
        out: *mut BoosterHandle,
    ) -> c_int;
    pub(super) fn XGBoosterSaveModelToBuffer(
        booster: BoosterHandle,
        config: *const c_char,
        length: *mut u64,
        bytes: *mut *const c_char,
    ) -> c_int;
    pub(super) fn XGBoosterLoadModelFromBuffer(booster: BoosterHandle, bytes: *const c_void, length: u64) -> c_int;
    pub(super) fn XGBoosterFree(booster: BoosterHandle) -> c_int;
}
