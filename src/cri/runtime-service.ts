import type { ExecSyncResponse, RuntimeServiceDefinition } from './generated/cri.ts';
import type { CallOptions, Service } from './service.ts';

/** CRI v1 RuntimeService: sandboxes, containers, streaming, stats, events. */
export type RuntimeService = Omit<Service<RuntimeServiceDefinition>, 'execSync'> & {
  execSync: (
    request?: Parameters<Service<RuntimeServiceDefinition>['execSync']>[0],
    options?: ExecSyncOptions,
  ) => Promise<ExecSyncAnswer>;
};

export interface ExecSyncOptions extends CallOptions {
  /** Bytes to keep of stdout, and of stderr. The default is 10 KiB. */
  maxOutputBytes?: number;
}

/** The first bytes of stdout and of stderr, and how the command ended. */
export interface ExecSyncAnswer extends ExecSyncResponse {
  /** Number of bytes that the command wrote beyond these; absent if none. */
  leftOutBytes?: number;
}
