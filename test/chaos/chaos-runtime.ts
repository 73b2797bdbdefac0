import { join } from 'node:path';
import { systemClock } from '../../src/clock.ts';
import { ManagedContainerd } from '../../src/containerd/managed-containerd.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { RuntimeProxy } from './runtime-proxy.ts';

/** A containerd that kubelet-ts does not manage, behind a socket that can hang. */
export interface ChaosRuntime {
  readonly endpoint: string;
  readonly proxy: RuntimeProxy;
  /** Lets the containerd go: it runs on behind its socket, and is not started again when it ends. */
  release(): void;
  close(): Promise<void>;
}

/** Starts it where the managed one of this root-dir would be, and starts it again whenever it ends. */
export async function startChaosRuntime(rootDir: string): Promise<ChaosRuntime> {
  const containerd = new ManagedContainerd({ rootDir, clock: systemClock, logger: silentLogger });
  await containerd.start();
  await containerd.importImages();
  const proxy = await RuntimeProxy.listen(join(rootDir, 'proxy.sock'), managedPaths(rootDir).socket);
  return {
    endpoint: proxy.endpoint,
    proxy,
    release: () => {
      containerd.release();
      proxy.resume();
    },
    close: () => proxy.close(),
  };
}
