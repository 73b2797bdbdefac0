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
  /** Name of the first process here. systemd uses the same PIDs only if it is this process. */
  firstProcess?: () => Promise<string>;
}

const unlimited = 2n ** 64n - 1n;

/**
 * Moves a new containerd out of our service into a systemd scope, where its shims follow it, so that a kill or a memory
 * limit of the service does not affect the pods. Does nothing without systemd. Never rejects.
 */
export async function moveToOwnScope(process: ProcessIdentity, deps: ScopeDeps): Promise<void> {
  const { firstProcess = readFirstProcess } = deps;
  if ((await firstProcess()) !== 'systemd') return;
  const unit = scopeName(process);
  try {
    const systemd = await openSystemd(deps);
    await systemd.startTransientUnit(unit, scopeProperties(process.pid, deps.rootDir));
  } catch (error) {
    const hint = 'Until containerd restarts, killing the kubelet-ts service stops every pod.';
    deps.logger.warn({ unit, err: errorMessage(error), hint }, 'Could not move containerd to a separate systemd unit');
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
    // Stops last at a shutdown, because pods are stopped before.
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
