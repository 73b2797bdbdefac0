import { readFile } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { Systemd, UnitProperty } from '../engine/container-manager/systemd.ts';
import { systemBusSocket } from '../engine/host/system-bus-socket.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ProcessIdentity } from '../process/process-identity.ts';

interface ScopeDeps {
  rootDir: string;
  clock: Clock;
  logger: Logger;
  socketPath?: string;
  /** Name of the first process here. systemd numbers processes as we do only if it is that one. */
  firstProcess?: () => Promise<string>;
}

const unlimited = 2n ** 64n - 1n;

/**
 * Moves a new containerd out of our service into a scope of systemd, where its shims follow it. So whatever hits the
 * service, such as a kill or a limit of memory, does not affect the pods. Does nothing without systemd. Never rejects.
 */
export async function moveToOwnScope(process: ProcessIdentity, deps: ScopeDeps): Promise<void> {
  const { firstProcess = readFirstProcess } = deps;
  if ((await firstProcess()) !== 'systemd') return;
  const unit = scopeName(process);
  try {
    const systemd = await openSystemd(deps);
    await systemd.startTransientUnit(unit, scopeProperties(process.pid, deps.rootDir));
  } catch (error) {
    const hint = 'Until containerd is started again, a kill of the service of kubelet-ts stops every pod.';
    deps.logger.warn({ unit, err: errorMessage(error), hint }, 'containerd has no systemd unit of its own');
  }
}

/** Each process has its own name, because the scope of an earlier one lasts as long as its shims. */
function scopeName({ pid, startTicks }: ProcessIdentity): string {
  return `kubelet-ts-containerd-${pid}-${startTicks}.scope`;
}

function scopeProperties(pid: number, rootDir: string): UnitProperty[] {
  return [
    { name: 'Description', signature: 's', value: `containerd of kubelet-ts (${rootDir})` },
    { name: 'PIDs', signature: 'au', value: [pid] },
    { name: 'Slice', signature: 's', value: 'system.slice' },
    // It ends last at a shutdown, because pods are ended before.
    { name: 'DefaultDependencies', signature: 'b', value: false },
    { name: 'Delegate', signature: 'b', value: true },
    { name: 'TasksMax', signature: 't', value: unlimited },
    { name: 'CollectMode', signature: 's', value: 'inactive-or-failed' },
  ];
}

/** Loaded on demand, because most machines start their containerd once. */
async function openSystemd({ clock, socketPath = systemBusSocket(process.env) }: ScopeDeps): Promise<Systemd> {
  const { DBusSystemd } = await import('../engine/container-manager/dbus-systemd.ts');
  return new DBusSystemd({ clock, socketPath });
}

async function readFirstProcess(): Promise<string> {
  const name = await readFile('/proc/1/comm', 'utf8').catch(() => '');
  return name.trim();
}
