import { readFile } from 'node:fs/promises';

/** Bit of CAP_SYS_RESOURCE, which lowering an oom_score_adj and raising a hard limit need. See capabilities(7). */
const sysResourceBit = 24n;

/** True when the process that this /proc/<pid>/status describes has CAP_SYS_RESOURCE in effect. */
export function hasSysResource(status: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> sysResourceBit) & 1n) === 1n;
}

/** Whether we, and so what we start, have CAP_SYS_RESOURCE. */
export async function readHasSysResource(): Promise<boolean> {
  return hasSysResource(await readFile('/proc/self/status', 'utf8'));
}
