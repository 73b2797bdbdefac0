import { parseInt64 } from '../../api/values/go-numbers.ts';
import { findContainer } from '../../api/values/containers.ts';
import type { Clock } from '../../clock.ts';
import { writeCheckpoint } from '../../engine/host/checkpoint-archive.ts';
import { rpcText } from '../../cri/rpc-text.ts';
import { sendJSON, sendPlain } from './answers.ts';
import { type ApiEngine, type ApiRuntime, declaredPod, runningContainerID } from './api-engine.ts';
import type { Call } from './route-table.ts';

interface Deps {
  engine: ApiEngine;
  runtime: Pick<ApiRuntime, 'checkpointContainer'>;
  clock: Pick<Clock, 'now'>;
  /** `runtimeRequestTimeout` is in milliseconds. */
  options: { rootDir: string; runtimeRequestTimeout: number };
}

/** gRPC refuses a deadline that is too far away. */
const maxDeadlineMs = 366 * 86_400_000;

/**
 * Writes a checkpoint of a container to an archive. kubelet: server/server.go checkpoint, kubelet.go
 * CheckpointContainer
 */
export async function checkpointContainer(
  { engine, runtime, options, clock }: Deps,
  { response, params, query }: Call,
): Promise<void> {
  const { namespace = '', pod: podName = '', container = '' } = params;
  const pod = declaredPod(engine, params);
  if (findContainer(pod.spec, container) === undefined) {
    sendPlain(response, 404, `container ${container} does not exist`);
    return;
  }
  const fail = (reason: string): void => {
    sendPlain(response, 500, `checkpointing of ${namespace}/${podName}/${container} failed (${reason})`);
  };
  const asked = parseInt64(query.getAll('timeout').at(-1) ?? '0');
  if (typeof asked === 'string') {
    sendPlain(response, 404, 'cannot parse value of timeout parameter');
    return;
  }
  const containerId = runningContainerID(pod, container);
  if (containerId === undefined) {
    fail(`container ${container} not found`);
    return;
  }
  if (asked < 0n) {
    fail('CheckpointContainer requires the timeout value to be > 0');
    return;
  }
  const archive = { rootDir: options.rootDir, podName, namespace, container, now: clock.now() };
  response.setTimeout(0);
  let path: string;
  try {
    // kubelet: cri-client remote_runtime.go CheckpointContainer
    const least = BigInt(Math.trunc(options.runtimeRequestTimeout / 1000));
    const timeout = asked > least ? asked : least;
    path = await writeCheckpoint(archive, (location) => {
      const deadlineMs = Math.min(Number(timeout) * 1000, maxDeadlineMs);
      return runtime.checkpointContainer({ containerId, location, timeout }, { deadlineMs });
    });
  } catch (error) {
    fail(rpcText(error));
    return;
  }
  sendJSON(response, { items: [path] });
}
