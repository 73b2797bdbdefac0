import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { PodNetwork } from '../../src/containerd/pod-network.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import { directChannel } from '../fakes/direct-channel.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a host port of a name in place of an address is refused before there is a sandbox', async () => {
  const runtime = new FakeRuntime({ clock: systemClock });
  const paths = managedPaths(await temporaryFolder());
  const network = new PodNetwork({ paths, choice: {}, clock: systemClock, logger: silentLogger });
  const { runPodSandbox } = network.withHostPorts(grpcRuntimeService(directChannel(runtime)));
  const config = { portMappings: [{ containerPort: 80, hostPort: 8080, hostIp: 'localhost' }] };
  await expect(runPodSandbox({ config })).rejects.toThrow('hostIP "localhost" of host port 8080 is not an IP address');
  expect(await runtime.listPodSandbox({})).toEqual({ items: [] });
});
