import { readFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';

/** The machine as the metrics name it. An unreadable value is empty. kubelet: cadvisor machine.Info */
export interface MachineFacts {
  cores: number;
  physicalCores: number;
  sockets: number;
  memoryBytes: number;
  swapBytes: number;
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osVersion: string;
}

export async function readMachineFacts(): Promise<MachineFacts> {
  const [machineID, systemUUID, bootID, osRelease, memory, processors] = await Promise.all([
    textOf('/etc/machine-id'),
    textOf('/sys/class/dmi/id/product_uuid'),
    textOf('/proc/sys/kernel/random/boot_id'),
    textOf('/etc/os-release'),
    textOf('/proc/meminfo'),
    textOf('/proc/cpuinfo'),
  ]);
  return {
    cores: cpus().length,
    ...coresAndSockets(processors, cpus().length),
    memoryBytes: totalmem(),
    swapBytes: Number(/^SwapTotal:\s+(\d+) kB/m.exec(memory)?.[1] ?? 0) * 1024,
    machineID,
    systemUUID,
    bootID,
    kernelVersion: release(),
    osVersion: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? '',
  };
}

/** Where /proc/cpuinfo names no cores, as on ARM, each processor counts as one. */
export function coresAndSockets(text: string, processors: number): { physicalCores: number; sockets: number } {
  const [sockets, cores] = [new Set<string>(), new Set<string>()];
  for (const part of text.split('\n\n')) {
    const socket = /^physical id\s*:\s*(\d+)/m.exec(part)?.[1];
    const core = /^core id\s*:\s*(\d+)/m.exec(part)?.[1];
    if (socket !== undefined) sockets.add(socket);
    if (core !== undefined) cores.add(`${socket ?? ''} ${core}`);
  }
  return { physicalCores: cores.size || processors, sockets: sockets.size || 1 };
}

async function textOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trim();
}
