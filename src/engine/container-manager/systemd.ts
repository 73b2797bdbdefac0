/** A setting of a unit, as D-Bus has it: `b` boolean, `s` text, `t` 64 bits, `as` texts. */
export type UnitProperty =
  | { name: string; signature: 'b'; value: boolean }
  | { name: string; signature: 's'; value: string }
  | { name: string; signature: 't'; value: bigint }
  | { name: string; signature: 'as'; value: readonly string[] };

/** The manager of a machine's units. kubelet: coreos/go-systemd dbus */
export interface Systemd {
  /** Makes a unit that is on no disk, and resolves when it has started. There already is fine. */
  startTransientUnit(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Changes a unit until the machine is started anew. */
  setUnitProperties(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Ends a unit with everything in it, and resolves when it has. Absent is fine. */
  stopUnit(unit: string): Promise<void>;
}
