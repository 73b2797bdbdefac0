import { type NodeCase, replayNode } from '../recorded-node.ts';
import { tableAdapter } from '../table-adapter.ts';

export const cpuManager = tableAdapter<NodeCase>('cpu-manager', replayNode);
