import { setFlagsFromString } from 'node:v8';

/**
 * Keeps V8 from growing its space for young objects. The start of many pods would make it tens of megabytes, which an agent
 * that then idles for months would hold on to. Options of the command line that do the same make Node itself start slower.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
