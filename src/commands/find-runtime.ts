import { hasManagedContainerd } from '../containerd/managed-paths.ts';
import { probeEndpoint } from '../containerd/probe-endpoint.ts';
import { chooseRuntimeEndpoint, type RuntimeEndpoint } from '../containerd/runtime-endpoint.ts';

/** Which runtime these flags and this machine come to (docs/runtimes.md). */
export async function findRuntimeEndpoint(options: {
  rootDir: string;
  flag: string | undefined;
}): Promise<RuntimeEndpoint> {
  return chooseRuntimeEndpoint({
    flag: options.flag,
    env: process.env['CONTAINER_RUNTIME_ENDPOINT'],
    rootDir: options.rootDir,
    recorded: await hasManagedContainerd(options.rootDir),
    probe: probeEndpoint,
  });
}
