/**
 * A property of a unit, with its D-Bus type: `b` boolean, `s` string, `t` 64-bit number, `as` strings, `au` 32-bit
 * numbers.
 */
export type UnitProperty =
  | { name: string; signature: 'b'; value: boolean }
  | { name: string; signature: 's'; value: string }
  | { name: string; signature: 't'; value: bigint }
  | { name: string; signature: 'as'; value: readonly string[] }
  | { name: string; signature: 'au'; value: readonly number[] };

/** The systemd manager of a machine. kubelet: coreos/go-systemd dbus */
export interface Systemd {
  /** Starts a unit without a unit file. Resolves once it has started, or if it already exists. */
  startTransientUnit(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Changes a unit until the next boot. */
  setUnitProperties(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Stops a unit and all its processes. Resolves once it has stopped, or if it is missing. */
  stopUnit(unit: string): Promise<void>;
}
