import type { FakeRuntime } from '../fakes/fake-runtime.ts';

/** Starts a pod with one container `main` in the runtime, as a kubelet would. Its UID is also its name. */
export async function startRuntimePod(
  runtime: FakeRuntime,
  uid: string,
  annotations: Record<string, string> = {},
): Promise<{ sandbox: string; container: string }> {
  const labels = {
    'io.kubernetes.pod.name': uid,
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.container.name': 'main',
  };
  const { podSandboxId } = await runtime.runPodSandbox({
    config: { metadata: { name: uid, namespace: 'default', uid }, labels },
  });
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    config: { metadata: { name: 'main' }, image: { image: 'app:1' }, labels, annotations },
  });
  await runtime.startContainer({ containerId });
  return { sandbox: podSandboxId, container: containerId };
}
