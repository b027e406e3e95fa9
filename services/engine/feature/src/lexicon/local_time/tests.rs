use super::*;
use proptest::prelude::*;

fn parts(text: &str) -> Option<[f64; 6]> {
    use TimePart::{DayOfMonth, DayOfWeek, MonthOfYear, Second, TimeOfDay, Year};
    let parts = [DayOfWeek, TimeOfDay, DayOfMonth, MonthOfYear, Year, Second].map(|wanted| part(text, wanted));
    parts.iter().all(Option::is_some).then(|| parts.map(|value| value.unwrap_or(f64::NAN)))
}

#[test]
fn fields_are_those_of_the_local_clock() {
    let friday = 1_641_547_935.0;
    assert_eq!(parts("2022-01-07T11:32:15+02:00"), Some([5.0, 11.5375, 7.0, 1.0, 2022.0, friday]));
    assert_eq!(parts("2022-01-07T09:32:15Z"), Some([5.0, 9.5375, 7.0, 1.0, 2022.0, friday]));
    assert_eq!(parts("2022-01-08T00:32:15+15:00"), Some([6.0, 0.5375, 8.0, 1.0, 2022.0, friday]));
    assert_eq!(parts("2022-01-06T23:32:15-10:00"), Some([4.0, 23.5375, 6.0, 1.0, 2022.0, friday]));
}

#[test]
fn a_zone_name_a_fraction_and_missing_seconds_are_understood() {
    for (text, hours) in [
        ("2022-01-07T11:30:00+01:00[Europe/Paris]", 11.5),
        ("2022-01-07T11:30+01:00[Europe/Paris]", 11.5),
        ("2022-01-07T11:30:00+02:00[Europe/Paris]", 11.5), // a contradiction; what is written counts
        ("2022-01-07T11:30+02:00[Nowhere/Atlantis]", 11.5),
        ("2022-01-07T11:30:00.5625Z", 11.50015625),
        ("2022-01-07t11:30z", 11.5),
        ("2022-01-07T11:30:00+0130", 11.5),
    ] {
        let found = part(text, TimePart::TimeOfDay);
        assert!(found.is_some_and(|found| (found - hours).abs() < 1e-9), "{text}: {found:?}");
    }
}

#[test]
fn what_has_no_zone_or_is_no_time_is_missing() {
    for text in [
        "",
        "yesterday",
        "2022-01-07",
        "2022-01-07T11:32:15",
        "2022-01-07T11:32:15[Europe/Paris]",
        "2022-02-30T11:32:15Z",
        "2022-01-07T25:00:00Z",
        "2022-01-07T11:32:15+25:00",
        "1641547935",
    ] {
        assert_eq!(part(text, TimePart::Year), None, "{text}");
    }
}

#[test]
fn sunday_is_the_seventh_day_and_the_last_second_stays_under_24() {
    assert_eq!(part("2024-12-29T23:59:59.999999999Z", TimePart::DayOfWeek), Some(7.0));
    let time = part("2024-12-29T23:59:59.999999999Z", TimePart::TimeOfDay);
    assert!(time.is_some_and(|hours| (23.99..24.0).contains(&(hours as f32))), "{time:?}");
}

#[test]
fn a_timestamp_is_read_in_utc() {
    let friday = Timestamp::from_millis(1_641_547_935_500);
    assert_eq!(of_timestamp(friday, TimePart::DayOfWeek), 5.0);
    assert!((of_timestamp(friday, TimePart::TimeOfDay) - 9.537_638_8).abs() < 1e-6);
    assert_eq!(of_timestamp(friday, TimePart::Second), 1_641_547_935.0);
    assert_eq!(of_timestamp(Timestamp::from_millis(-1), TimePart::Year), 1969.0);
    assert_eq!(of_timestamp(Timestamp::from_millis(-1), TimePart::Second), -1.0);
    assert_eq!(of_timestamp(Timestamp::MAX, TimePart::Year), 9999.0);
    assert_eq!(of_timestamp(Timestamp::MIN, TimePart::Year), -9999.0);
}

#[test]
fn the_last_hours_of_the_calendar_are_as_all_others() {
    let end = Timestamp::from_millis(253_402_300_799_999);
    assert_eq!(of_timestamp(end, TimePart::DayOfMonth), 31.0);
    assert_eq!(of_timestamp(end, TimePart::Second), 253_402_300_799.0);
    assert_eq!(part("9999-12-31T23:59:59Z", TimePart::Second), Some(253_402_300_799.0));
    assert_eq!(epoch_seconds("9999-12-31T23:59:59.5-01:00"), Some(253_402_304_399.5));
}

#[test]
fn epoch_seconds_come_from_dates_and_from_numbers() {
    for text in ["2022-01-07T11:32:15.25+02:00", "2022-01-07T09:32:15.250Z", "1641547935.25", " 1641547935.25 "] {
        assert_eq!(epoch_seconds(text), Some(1_641_547_935.25), "{text}");
    }
    assert_eq!(epoch_seconds("-12"), Some(-12.0));
    for text in ["", "-", ".", "1.2.3", "NaN", "inf", "1e9", "soon", "2022-01-07"] {
        assert_eq!(epoch_seconds(text), None, "{text}");
    }
    assert_eq!(epoch_seconds(&"9".repeat(400)), None);
}

proptest! {
    #[test]
    fn any_text_is_a_time_or_none(text in "\\PC*") {
        let _ = (parts(&text), epoch_seconds(&text));
    }

    #[test]
    fn whatever_looks_like_a_time_stays_in_its_range(
        text in "-?[0-9]{4,6}-[0-1][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,10})?)?(Z|[+-][0-2][0-9]:[0-6][0-9])"
    ) {
        if let Some([weekday, hours, day, month, _, second]) = parts(&text) {
            prop_assert!((1.0..=7.0).contains(&weekday) && (0.0..24.0).contains(&hours));
            prop_assert!((1.0..=31.0).contains(&day) && (1.0..=12.0).contains(&month) && second.is_finite());
        }
        prop_assert!(epoch_seconds(&text).is_none_or(f64::is_finite));
    }

    #[test]
    fn any_timestamp_has_all_parts(millis: i64) {
        let hours = of_timestamp(Timestamp::from_millis(millis), TimePart::TimeOfDay);
        prop_assert!((0.0..24.0).contains(&hours));
    }
}
