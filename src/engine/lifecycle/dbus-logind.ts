import type { Message, MessageBus } from 'dbus-native';
import { join } from 'node:path';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';
import { openSystemBus } from '../host/system-bus.ts';
import { takeInhibitorLock } from './inhibitor-lock.ts';
import type { InhibitorLock, Logind, LogindConnection } from './logind.ts';

interface Deps {
  /** Socket of the system bus. */
  socketPath: string;
  /** `/etc/systemd/logind.conf.d` */
  configFolder: string;
  /** `systemd-inhibit` */
  inhibitProgram: string;
}

const service = 'org.freedesktop.login1';
const path = '/org/freedesktop/login1';
const managerInterface = 'org.freedesktop.login1.Manager';
const hangupSignal = 1;

/** kubelet: nodeshutdown/systemd/inhibit_linux.go DBusCon */
export class DBusLogind implements Logind {
  constructor(private readonly deps: Deps) {}

  async connect(onPrepareForShutdown: () => void, signal: AbortSignal): Promise<LogindConnection> {
    const { bus } = await openSystemBus(this.deps.socketPath, { signal });
    const closed = new Promise<void>((resolve) => {
      bus.connection.once('close', () => {
        resolve();
      });
    });
    bus.connection.on('message', (message: Message) => {
      if (message.member === 'PrepareForShutdown' && message.interface === managerInterface) onPrepareForShutdown();
    });
    await bus.addMatch(
      `type='signal',sender='${service}',interface='${managerInterface}',member='PrepareForShutdown',path='${path}'`,
    );
    return {
      closed,
      inhibitDelaySeconds: async () => Number(await property(bus, 'InhibitDelayMaxUSec')) / 1e6,
      reload: async () => {
        // logind has no call to reload.
        await bus.invoke({
          destination: 'org.freedesktop.systemd1',
          path: '/org/freedesktop/systemd1',
          interface: 'org.freedesktop.systemd1.Manager',
          member: 'KillUnit',
          signature: 'ssi',
          body: ['systemd-logind.service', 'all', hangupSignal],
        });
      },
      isPreparingForShutdown: async () => (await property(bus, 'PreparingForShutdown')) === true,
    };
  }

  inhibit(signal: AbortSignal): Promise<InhibitorLock> {
    return takeInhibitorLock(this.deps.inhibitProgram, signal);
  }

  async configureInhibitDelay(seconds: number): Promise<string> {
    const file = join(this.deps.configFolder, '99-kubelet.conf');
    const why = '# Written by kubelet-ts: pods have this long to stop when the machine shuts down.';
    await writeFileAtomic(file, `${why}\n[Login]\nInhibitDelayMaxSec=${seconds}\n`, 0o644);
    return file;
  }
}

async function property(bus: MessageBus, name: string): Promise<unknown> {
  const body = [managerInterface, name];
  const get = { interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body };
  return bus.invoke({ destination: service, path, ...get });
}
