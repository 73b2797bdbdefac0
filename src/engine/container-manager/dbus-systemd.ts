import { DBusError, type Message, type MessageBus } from 'dbus-native';
import type { Clock } from '../../clock.ts';
import { openSystemBus, type SystemBus } from '../host/system-bus.ts';
import type { Systemd, UnitProperty } from './systemd.ts';

interface Deps {
  clock: Clock;
  /** Socket of the system bus. */
  socketPath: string;
}

const service = 'org.freedesktop.systemd1';
const managerPath = '/org/freedesktop/systemd1';
const managerInterface = 'org.freedesktop.systemd1.Manager';
/** kubelet: opencontainers/cgroups systemd/common.go startUnit, stopUnit */
const jobTimeoutMs = 30_000;

/**
 * Controls systemd over the system bus. Connects on the first call, and again after the connection is lost. Between
 * calls the connection does not keep the process alive.
 */
export class DBusSystemd implements Systemd {
  private connection: Promise<SystemBus> | undefined;
  private calls = 0;
  /** Callbacks for finished jobs, by job path. */
  private readonly jobs = new Map<string, () => void>();
  /** Jobs that finished during calls, because a job may finish before its path is known. */
  private readonly finishedJobs = new Set<string>();

  constructor(private readonly deps: Deps) {}

  startTransientUnit(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    const body = [unit, 'replace', properties.map(toWire), []];
    return this.withBus(async (bus) => {
      try {
        await this.waitForJob(await call(bus, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', body));
      } catch (error) {
        if (!isDBusError(error, 'org.freedesktop.systemd1.UnitExists')) throw error;
      }
    });
  }

  setUnitProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    // `true` limits the change to this boot.
    return this.withBus(async (bus) => {
      await call(bus, 'SetUnitProperties', 'sba(sv)', [unit, true, properties.map(toWire)]);
    });
  }

  stopUnit(unit: string): Promise<void> {
    return this.withBus(async (bus) => {
      try {
        await this.waitForJob(await call(bus, 'StopUnit', 'ss', [unit, 'replace']));
        // A failed unit would stay listed.
        await call(bus, 'ResetFailedUnit', 's', [unit]);
      } catch (error) {
        if (!isDBusError(error, 'org.freedesktop.systemd1.NoSuchUnit')) throw error;
      }
    });
  }

  private async withBus(act: (bus: MessageBus) => Promise<void>): Promise<void> {
    const { bus, socket } = await this.connected();
    this.calls += 1;
    socket.ref();
    try {
      await act(bus);
    } finally {
      this.calls -= 1;
      if (this.calls === 0) {
        socket.unref();
        this.finishedJobs.clear();
      }
    }
  }

  private connected(): Promise<SystemBus> {
    if (this.connection !== undefined) return this.connection;
    const opening = this.open();
    const dropConnection = (): void => {
      if (this.connection === opening) this.connection = undefined;
    };
    this.connection = opening;
    opening.then(({ bus }) => bus.connection.once('close', dropConnection), dropConnection);
    return opening;
  }

  private async open(): Promise<SystemBus> {
    const { bus, socket } = await openSystemBus(this.deps.socketPath);
    bus.connection.on('message', (message: Message) => {
      if (message.member === 'JobRemoved' && message.interface === managerInterface)
        this.jobFinished(message.body?.[1]);
    });
    await bus.addMatch(`type='signal',sender='${service}',interface='${managerInterface}',member='JobRemoved'`);
    await call(bus, 'Subscribe', '', []);
    return { bus, socket };
  }

  private jobFinished(path: unknown): void {
    if (typeof path !== 'string') return;
    const waiting = this.jobs.get(path);
    if (waiting !== undefined) waiting();
    // Jobs of other programs may finish at any time.
    else if (this.calls > 0) this.finishedJobs.add(path);
  }

  private async waitForJob(path: unknown): Promise<void> {
    if (typeof path !== 'string' || this.finishedJobs.delete(path)) return;
    const bound = new AbortController();
    try {
      await Promise.race([
        new Promise<void>((resolve) => {
          this.jobs.set(path, resolve);
        }),
        this.deps.clock.sleep(jobTimeoutMs, { signal: bound.signal }),
      ]);
    } finally {
      this.jobs.delete(path);
      bound.abort();
    }
  }
}

async function call(bus: MessageBus, member: string, signature: string, body: unknown[]): Promise<unknown> {
  const message: Message = { destination: service, path: managerPath, interface: managerInterface, member };
  return bus.invoke<unknown>(signature === '' ? message : { ...message, signature, body });
}

function toWire({ name, signature, value }: UnitProperty): unknown[] {
  return [name, [signature, value]];
}

function isDBusError(error: unknown, name: string): boolean {
  return error instanceof DBusError && error.dbusName === name;
}
