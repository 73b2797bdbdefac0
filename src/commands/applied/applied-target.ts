import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import { systemClock } from '../../clock.ts';
import { AppliedManifests } from '../../engine/applied/applied-manifests.ts';
import { type AppliedObject, type AppliedResult } from '../../engine/applied/applied-object.ts';
import { declaredBefore } from '../../engine/applied/declared-before.ts';
import { RequestRefused, UserError } from '../../errors.ts';
import { silent } from '../../logger.ts';
import { nodeNameOf } from '../../node/options/node-options.ts';
import { applyManifests, deleteApplied, fetchSnapshot } from '../../server/control/control-client.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { patientSocket } from '../io/patient-socket.ts';

/**
 * Where `apply` and `delete` send their requests: to the agent, or, if none runs, to the folder of applied manifests.
 */
export interface AppliedTarget {
  nodeName: string;
  /** False if changes take effect only when the agent starts next. */
  hasAgent: boolean;
  /**
   * The file or URL that declared an object when the last agent ran. The next agent may read it too. Always undefined
   * if an agent runs, because it refuses such objects.
   */
  declaredBefore: (object: AppliedObject) => string | undefined;
  apply: (body: Uint8Array) => Promise<AppliedResult[]>;
  delete: (object: AppliedObject) => Promise<AppliedResult>;
}

interface Request {
  rootDir: string;
  hostnameOverride?: string | undefined;
  dryRun: boolean;
}

/** Rejects with a `UserError` if an agent runs but does not answer. */
export async function appliedTarget(request: Request, stderr: Writable): Promise<AppliedTarget> {
  const socket = patientSocket(controlSocketPath(request.rootDir), stderr);
  const snapshot = await fetchSnapshot(socket);
  if (snapshot === undefined) return folderTarget(request);
  const { dryRun } = request;
  return {
    nodeName: snapshot.nodeName,
    hasAgent: true,
    declaredBefore: () => undefined,
    apply: async (body) => answered(await applyManifests(socket, body, dryRun)),
    delete: async (object) => answered(await deleteApplied(socket, object, dryRun)),
  };
}

function answered<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer;
  throw new UserError('kubelet-ts exited before it answered', { hint: 'Run the command again; repeating it is safe.' });
}

/** All applied objects, in the order of their files. */
export async function appliedObjects(rootDir: string): Promise<AppliedObject[]> {
  const nodeName = nodeNameOf(hostname());
  return new AppliedManifests({ rootDir, nodeName, clock: systemClock, logger: silent }).list();
}

async function folderTarget({ rootDir, hostnameOverride, dryRun }: Request): Promise<AppliedTarget> {
  const nodeName = nodeNameOf(hostnameOverride ?? hostname());
  const declared = await declaredBefore(rootDir, { nodeName });
  // The agent logs the state of the folder when it starts.
  const applied = new AppliedManifests({ rootDir, nodeName, clock: systemClock, logger: silent });
  const declarerOf = (key: string): string | undefined => declared.get(key);
  return {
    nodeName,
    hasAgent: false,
    declaredBefore: ({ kind, namespace, name }) => {
      const key = `${kind}/${namespace}/${name}`;
      return declarerOf(key) ?? declarerOf(`${key}-${nodeName.toLowerCase()}`);
    },
    // No agent reads these files now, and the next one may run without them.
    apply: (body) => unlessRefused(() => applied.apply(body, { declarerOf: () => undefined, dryRun })),
    delete: (object) => unlessRefused(() => applied.delete(object, { declarerOf, dryRun })),
  };
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error;
    const { message, hint } = error;
    throw new UserError(message, { ...(hint !== undefined && { hint }), cause: error });
  }
}
