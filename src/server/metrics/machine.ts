import { readFile } from 'node:fs/promises';
import { cpus, release, totalmem } from 'node:os';

/** The machine as the metrics name it. A text that cannot be read is empty. kubelet: cadvisor machine.Info */
export interface MachineFacts {
  cores: number;
  memoryBytes: number;
  swapBytes: number;
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osVersion: string;
}

export async function readMachineFacts(): Promise<MachineFacts> {
  const [machineID, systemUUID, bootID, osRelease, memory] = await Promise.all([
    textOf('/etc/machine-id'),
    textOf('/sys/class/dmi/id/product_uuid'),
    textOf('/proc/sys/kernel/random/boot_id'),
    textOf('/etc/os-release'),
    textOf('/proc/meminfo'),
  ]);
  return {
    cores: cpus().length,
    memoryBytes: totalmem(),
    swapBytes: Number(/^SwapTotal:\s+(\d+) kB/m.exec(memory)?.[1] ?? 0) * 1024,
    machineID,
    systemUUID,
    bootID,
    kernelVersion: release(),
    osVersion: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? '',
  };
}

async function textOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.trim();
}
