"""The bundled routes, their simplification, and a user's own data."""

import csv
import itertools
import json
import math

import numpy as np
import pytest

from seer_env.envs.aircraft.simplify import MAX_WAYPOINTS, Rules, douglas_peucker, project, simplified
from seer_env.envs.aircraft.tracks import (
    BUNDLED,
    COLUMNS,
    import_tracks,
    load_routes,
    pack_routes,
    save_routes,
)
from seer_env.errors import ModelError


def test_bundled_routes_are_many_and_short():
    routes = load_routes()
    assert len(routes) >= 150
    assert np.diff(routes.offsets).min() >= 2
    assert np.diff(routes.offsets).max() <= MAX_WAYPOINTS


def test_bundled_file_holds_numbers_only_and_nothing_that_identifies():
    with np.load(BUNDLED, allow_pickle=False) as file:
        assert sorted(file.files) == sorted(COLUMNS)
        assert all(file[name].dtype.kind in "if" for name in file.files)
        assert file["t"].max() < 86_400  # no date: time since the route's start
        assert all(file[name][file["offsets"][:-1]].max() == 0 for name in ["t"])
    assert BUNDLED.stat().st_size < 200_000


def test_bundled_routes_can_be_flown():
    routes, rules = load_routes(), Rules()
    leg = np.ones(len(routes.x) - 1, bool)
    leg[routes.offsets[1:-1] - 1] = False
    duration = np.diff(routes.t)[leg]
    speed = np.hypot(np.diff(routes.x), np.diff(routes.y))[leg] / duration
    assert duration.min() > 0
    assert speed.min() >= rules.speed[0]
    assert speed.max() <= rules.speed[1]
    assert np.abs(np.diff(routes.z)[leg] / duration).max() <= rules.climb
    assert routes.z.min() >= rules.floor
    assert routes.z.max() <= rules.ceiling
    assert max(np.abs(routes.x).max(), np.abs(routes.y).max()) <= rules.region / 2


def test_projection_keeps_distance_from_the_origin():
    east, north = project(np.array([48.0]), np.array([2.0]), (47.0, 2.0))
    assert east[0] == pytest.approx(0.0, abs=1e-6)
    assert north[0] == pytest.approx(math.radians(1.0) * 6_371_008.8)


def test_douglas_peucker_keeps_corners_and_drops_the_rest():
    corner = np.array([[0, 0], [1, 0.01], [2, 0], [3, 0.01], [4, 0], [4, 1], [4.01, 2], [4, 4]], float)
    assert douglas_peucker(corner, 0.1).tolist() == [0, 4, 7]


def test_simplification_stays_within_its_tolerance():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(0, 1, (200, 2)), axis=0)
    keep = douglas_peucker(walk, 2.0)
    for a, b in itertools.pairwise(keep):
        line = walk[b] - walk[a]
        t = np.clip((walk[a : b + 1] - walk[a]) @ line / (line @ line), 0, 1)
        assert np.linalg.norm(walk[a : b + 1] - walk[a] - t[:, None] * line, axis=1).max() <= 2.0 + 1e-9


def test_circling_is_not_a_route():
    t = np.arange(0, 3600.0, 10)
    circle = np.stack([2e4 * np.cos(t / 50), 2e4 * np.sin(t / 50), np.full_like(t, 6e3), t], axis=1)
    assert simplified(circle) is None


def write_csv(path, rows, header=("time", "icao24", "lat", "lon", "baroaltitude")):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def flight(ident, latitude=48.0, altitude=10_000.0):
    return [(1_600_000_000 + 10 * k, ident, latitude, 2.0 + 0.03 * k, altitude) for k in range(60)]


def test_csv_import_makes_routes_without_identifiers(tmp_path):
    source, out = write_csv(tmp_path / "a.csv", flight("abc123") + flight("def456", 48.2)), tmp_path / "r.npz"
    assert import_tracks(source, out) == 2
    routes = load_routes(out)
    assert len(routes) == 2
    assert routes.t.max() == 590.0
    assert b"abc123" not in out.read_bytes()


def test_csv_import_reads_iso_times_and_feet(tmp_path):
    rows = [(f"2024-05-01T10:{k // 6:02d}:{k % 6}0Z", "a", 48.0, 2.0 + 0.03 * k, 33_000) for k in range(60)]
    source = write_csv(tmp_path / "a.csv", rows, ("timestamp", "id", "latitude", "longitude", "altitude"))
    import_tracks(source, tmp_path / "r.npz", altitude_unit="ft")
    assert load_routes(tmp_path / "r.npz").z[0] == pytest.approx(33_000 * 0.3048, abs=1)


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (flight("a"), ("time", "icao24", "lat", "lon", "speed"), "no column for altitude"),
        (flight("a")[:3], None, "usable flight"),
        ([], None, "no rows"),
        ([("noon", "a", 48, 2, 1e4)], None, "line 2: time is 'noon'"),
        ([(0, "a", "north", 2, 1e4)], None, "lat is 'north'"),
        ([(0, "a", 480, 2, 1e4)], None, "latitude 480.0 in data row 1"),
        ([(0, "a", "", "", 1e4)], None, "no row has a latitude"),
    ],
)
def test_csv_import_explains_what_is_wrong(tmp_path, rows, header, message):
    source = write_csv(tmp_path / "a.csv", rows, *([header] if header else []))
    with pytest.raises(ValueError, match=message):
        import_tracks(source, tmp_path / "r.npz")
    assert not (tmp_path / "r.npz").exists()


def test_import_refuses_other_files(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv or \.parquet"):
        import_tracks(tmp_path / "a.txt", tmp_path / "r.npz")
    with pytest.raises(FileNotFoundError, match="no such file"):
        import_tracks(tmp_path / "a.csv", tmp_path / "r.npz")


def test_parquet_import_equals_csv_import(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = flight("a")
    write_csv(tmp_path / "a.csv", rows)
    names = ["time", "icao24", "lat", "lon", "baroaltitude"]
    parquet.write_table(pyarrow.table(dict(zip(names, map(list, zip(*rows))))), tmp_path / "a.parquet")
    for kind in ("csv", "parquet"):
        import_tracks(tmp_path / f"a.{kind}", tmp_path / f"{kind}.npz")
    a, b = load_routes(tmp_path / "csv.npz"), load_routes(tmp_path / "parquet.npz")
    assert all((x == y).all() for x, y in zip(a, b))


def test_loading_a_file_of_something_else_is_explained(tmp_path):
    (tmp_path / "no.npz").write_text(json.dumps({"a": 1}))
    with pytest.raises(ValueError, match="not a routes file"):
        load_routes(tmp_path / "no.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="lacks the arrays"):
        load_routes(tmp_path / "other.npz")


def test_no_file_of_routes_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"^routes: there is no file .*no\.npz$"):
        load_routes(tmp_path / "no.npz")


def test_a_folder_of_routes_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"^routes: .*Is a directory"):
        load_routes(tmp_path)


def of_text(file):
    file.write_text("time,lat,lon")


def of_objects(file):
    with file.open("wb") as opened:
        np.savez(opened, **dict.fromkeys(COLUMNS, np.array([None])))


@pytest.mark.parametrize(("write", "fault"), [(of_text, "it is no npz"), (of_objects, "must hold numbers")])
def test_numpys_advice_to_allow_pickle_is_not_passed_on(write, fault, tmp_path):
    write(tmp_path / "f1.csv")
    with pytest.raises(ModelError, match=rf"^routes: .*f1\.csv is not a routes file: .*{fault}") as raised:
        load_routes(tmp_path / "f1.csv")
    assert "pickle" not in str(raised.value)


def test_saved_routes_come_back(tmp_path):
    routes = pack_routes([np.array([[0, 0, 5e3, 0], [5e4, 1e3, 6e3, 300]], float)])
    save_routes(tmp_path / "r.npz", routes)
    assert all((a == b).all() for a, b in zip(load_routes(tmp_path / "r.npz"), routes))
