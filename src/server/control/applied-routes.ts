import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { appliedObject, type AppliedResult, resolveKind } from '../../engine/applied/applied-object.ts';
import { errorMessage, isSystemError, RequestRefused } from '../../errors.ts';
import { ControlRefusal, sendJSON, unlessRefused } from './control-answer.ts';
import type { ControlCall, ControlContext, ControlledEngine, ControlRoutes } from './control-route.ts';
import { readWholeBody } from './read-body.ts';

/**
 * Manifests that operators apply. With `dryRun` nothing changes.
 * - `GET /v1/applied`: the applied objects, and the revisions of their pods.
 * - `PUT /v1/applied`: adds and replaces all objects of a manifest, or none. `namespace`: of objects without one.
 * - `DELETE /v1/applied/{kind}/{namespace}/{name}`, and without the namespace for kinds that have none.
 * They answer once the change is on disk and in the snapshot.
 */
export function appliedRoutes(context: ControlContext): ControlRoutes {
  const remove = async (call: ControlCall): Promise<void> => {
    const { kind: word = '', namespace = '', name = '' } = call.params;
    const kind = resolveKind(word);
    if (kind === undefined) throw new ControlRefusal(404, `there is no kind ${word}`);
    const { applied, options, settled } = await prepared(context, call);
    const result = await unlessRefusedOrFull(() =>
      applied.delete(appliedObject(kind, namespace || 'default', name), options),
    );
    await settled();
    sendJSON(call.response, result);
  };
  return {
    'GET /v1/applied': async (call) => {
      const { applied, engine } = await prepared(context, call);
      const kept = await unlessRefusedOrFull(() => applied.list());
      const pods = podsByFile(engine);
      const objects = kept.map((object) => ({ ...object, pods: pods.get(object.file) ?? [] }));
      sendJSON(call.response, { objects });
    },
    'PUT /v1/applied': async (call) => {
      const body = await readWholeBody(call.request, maxManifestBytes);
      const { applied, options, settled } = await prepared(context, call);
      const namespace = call.query.get('namespace') ?? undefined;
      const objects = await unlessRefusedOrFull<AppliedResult[]>(() => applied.apply(body, { ...options, namespace }));
      await settled();
      sendJSON(call.response, { objects });
    },
    'DELETE /v1/applied/{kind}/{namespace}/{name}': remove,
    'DELETE /v1/applied/{kind}/{name}': remove,
  };
}

interface Prepared {
  applied: NonNullable<ControlContext['applied']>;
  engine: ControlledEngine;
  options: { declarerOf: (key: string) => string | undefined; dryRun: boolean; signal: AbortSignal };
  /** Resolves when the snapshot shows the change. */
  settled: () => Promise<void>;
}

async function prepared(context: ControlContext, call: ControlCall): Promise<Prepared> {
  const { applied } = context;
  if (applied === undefined) throw new ControlRefusal(409, 'this kubelet-ts does not accept manifests: it is run-once');
  const engine = await context.engineFor(call);
  // Right after a start, files may not be read yet.
  await unlessRefused(() => engine.settled());
  const dryRun = call.query.has('dryRun');
  const declarerOf = (key: string): string | undefined => engine.declarerOf(key);
  return {
    applied,
    engine,
    options: { declarerOf, dryRun, signal: call.signal },
    settled: async () => (dryRun ? undefined : unlessRefused(() => engine.settled())),
  };
}

interface AppliedPod {
  namespace: string;
  name: string;
  /** Absent until the pod is accepted. */
  revision?: number;
}

/** The pods of applied manifests, by the file that declares them. */
function podsByFile(engine: ControlledEngine): Map<string, AppliedPod[]> {
  const found = new Map<string, AppliedPod[]>();
  for (const { pod, source, replacedBy } of engine.snapshot().pods) {
    const { namespace, name } = pod.metadata;
    const file = engine.declarerOf(`Pod/${namespace}/${name}`);
    if (source !== 'applied' || replacedBy !== undefined || file === undefined) continue;
    const revision = currentRevision(engine, { namespace, name });
    found.set(file, [...(found.get(file) ?? []), { namespace, name, ...(revision !== undefined && { revision }) }]);
  }
  return found;
}

function currentRevision(engine: ControlledEngine, pod: { namespace: string; name: string }): number | undefined {
  try {
    return engine.pastRevisions(pod).find(({ isCurrent }) => isCurrent)?.revision;
  } catch (error) {
    if (error instanceof RequestRefused) return undefined;
    throw error;
  }
}

/** Throws a `ControlRefusal` for an error of the disk too. */
function unlessRefusedOrFull<T>(work: () => Promise<T>): Promise<T> {
  return unlessRefused(work).catch((error: unknown) => {
    if (isSystemError(error)) throw new ControlRefusal(409, `the manifests cannot be saved: ${errorMessage(error)}`);
    throw error;
  });
}
