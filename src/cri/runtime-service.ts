import type { RuntimeServiceDefinition } from './generated/cri.ts';
import type { Service } from './service.ts';

/** CRI v1 RuntimeService: sandboxes, containers, streaming, stats, events. */
export type RuntimeService = Service<RuntimeServiceDefinition>;
