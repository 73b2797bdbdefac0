import { type NodeCase, replayNode } from '../recorded-node.ts';
import { tableAdapter } from '../table-adapter.ts';

export const memoryManager = tableAdapter<NodeCase>('memory-manager', replayNode);
