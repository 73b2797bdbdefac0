import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * The part of the interval, in [0, 1), by which this machine's requests to an origin are moved. It is the same at every
 * start, and spread evenly over the machines of a fleet. Machines of one image may share their id but not their name.
 */
export function pollPhase(where: string, nodeName: string): number {
  const hash = createHash('sha256').update([machineID(), nodeName, where].join('\n'));
  return hash.digest().readUInt32BE() / 2 ** 32;
}

/** Empty on a machine without an id. */
function machineID(): string {
  try {
    return readFileSync('/etc/machine-id', 'latin1').trim();
  } catch {
    // The name of the node is enough.
    return '';
  }
}
