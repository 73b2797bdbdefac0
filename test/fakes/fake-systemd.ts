import { createBroker, createClient, type DBusBroker, DBusError, type MessageBus } from 'dbus-native';

const path = '/org/freedesktop/systemd1';
const managerInterface = 'org.freedesktop.systemd1.Manager';

type Unit = Record<string, unknown>;

/** The parts of systemd that slices need, on a separate message bus: real D-Bus on a real socket. */
export class FakeSystemd {
  /** Properties of the units that were started and not stopped, by name. */
  readonly units = new Map<string, Unit>();
  /** Every call, as `member unit`. */
  readonly calls: string[] = [];
  /** If true, jobs finish only when the test calls `endJobs`. */
  holdsJobs = false;
  readonly #broker: DBusBroker;
  readonly #bus: MessageBus;
  #jobs = 0;
  readonly #held: string[] = [];

  private constructor(broker: DBusBroker, bus: MessageBus) {
    this.#broker = broker;
    this.#bus = bus;
  }

  static async start(socketPath: string): Promise<FakeSystemd> {
    const broker = createBroker();
    await new Promise<void>((resolve, reject) => {
      broker.listen({ socket: socketPath }, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
    const bus = createClient({ busAddress: `unix:path=${socketPath}`, plainValues: true, returnBigInt: true });
    const systemd = new FakeSystemd(broker, bus);
    systemd.#answer();
    await bus.requestName('org.freedesktop.systemd1', 0);
    return systemd;
  }

  /** Finishes the jobs that were held. */
  endJobs(): void {
    for (const job of this.#held.splice(0)) this.#jobRemoved(job);
  }

  stop(): void {
    this.#bus.connection.end();
    this.#broker.close();
  }

  #answer(): void {
    const handle = (member: string, signature: string, handler: (...args: never[]) => unknown): void => {
      this.#bus.setMethodCallHandler(path, managerInterface, member, [handler, signature]);
    };
    handle('Subscribe', '', () => null);
    handle('StartTransientUnit', 'o', (unit: string, _mode: string, properties: [string, unknown][]) => {
      this.calls.push(`start ${unit}`);
      if (this.units.has(unit)) throw failure('UnitExists', `Unit ${unit} already exists.`);
      this.units.set(unit, Object.fromEntries(properties));
      return this.#newJob();
    });
    handle('SetUnitProperties', '', (unit: string, _runtime: boolean, properties: [string, unknown][]) => {
      this.calls.push(`set ${unit}`);
      const known = this.units.get(unit);
      if (known === undefined) throw failure('NoSuchUnit', `Unit ${unit} not loaded.`);
      this.units.set(unit, { ...known, ...Object.fromEntries(properties) });
      return null;
    });
    handle('StopUnit', 'o', (unit: string) => {
      this.calls.push(`stop ${unit}`);
      if (!this.units.delete(unit)) throw failure('NoSuchUnit', `Unit ${unit} not loaded.`);
      return this.#newJob();
    });
    handle('ResetFailedUnit', '', (unit: string) => {
      throw failure('NoSuchUnit', `Unit ${unit} not loaded.`);
    });
  }

  #newJob(): string {
    this.#jobs += 1;
    const job = `${path}/job/${this.#jobs}`;
    if (this.holdsJobs) this.#held.push(job);
    // Like systemd with short jobs, it may signal a job's end before it returns the job's path.
    else this.#jobRemoved(job);
    return job;
  }

  #jobRemoved(job: string): void {
    this.#bus.sendSignal(path, managerInterface, 'JobRemoved', 'uoss', [this.#jobs, job, 'unit', 'done']);
  }
}

function failure(name: string, message: string): DBusError {
  return Object.assign(new DBusError(message), { dbusName: `org.freedesktop.systemd1.${name}` });
}
