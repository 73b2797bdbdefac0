import { systemClock } from '../../src/clock.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { waitUntilReady } from '../../src/containerd/wait-until-ready.ts';
import { type Agent, nodeName } from '../e2e/agent.ts';
import { revisionAnnotation } from './chaos-pod.ts';

export interface ListedSandbox {
  readonly id: string;
  readonly podUID: string;
  /** Without the name of the node. */
  readonly podName: string;
  readonly revision: number;
  readonly isReady: boolean;
}

export interface ListedContainer {
  readonly id: string;
  readonly podUID: string;
  readonly podName: string;
  /** That of its sandbox. */
  readonly revision: number;
  readonly name: string;
  readonly attempt: number;
  readonly isRunning: boolean;
  readonly hasEnded: boolean;
}

/** Everything in the runtime, oldest first, as it says itself. */
export interface RuntimeListing {
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly ListedContainer[];
}

/** An agent whose pods run on may not have noticed that containerd ended a moment ago. */
export async function untilRuntimeAnswers({ rootDir }: Agent): Promise<void> {
  const signal = new AbortController().signal;
  await waitUntilReady(managedPaths(rootDir).socket, { clock: systemClock, signal, timeoutMs: 120_000 });
}

export async function listRuntime(agent: Agent): Promise<RuntimeListing> {
  const connection = await agent.connect();
  try {
    const { runtime } = connection;
    // Sandboxes last: each container has its own among them, unless that was removed meanwhile.
    const { containers } = await runtime.listContainers({});
    const { items } = await runtime.listPodSandbox({});
    const sandboxes = items
      .sort(byAge)
      .map(({ id, metadata, state, annotations }): ListedSandbox => ({
        id,
        podUID: metadata?.uid ?? '',
        podName: withoutNode(metadata?.name ?? ''),
        revision: Number(annotations[revisionAnnotation]),
        isReady: state === 'SANDBOX_READY',
      }));
    return {
      sandboxes,
      containers: containers
        .sort(byAge)
        .map(({ id, podSandboxId, metadata, state, labels }): ListedContainer => ({
          id,
          podUID: labels['io.kubernetes.pod.uid'] ?? '',
          podName: withoutNode(labels['io.kubernetes.pod.name'] ?? ''),
          revision: sandboxes.find((sandbox) => sandbox.id === podSandboxId)?.revision ?? NaN,
          name: metadata?.name ?? '',
          attempt: metadata?.attempt ?? NaN,
          isRunning: state === 'CONTAINER_RUNNING',
          hasEnded: state === 'CONTAINER_EXITED',
        })),
    };
  } finally {
    connection.close();
  }
}

const withoutNode = (name: string): string => name.replace(new RegExp(`-${nodeName}$`), '');

function byAge(one: { createdAt: bigint }, other: { createdAt: bigint }): number {
  return Number(one.createdAt - other.createdAt);
}
