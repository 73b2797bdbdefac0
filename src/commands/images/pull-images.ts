import pLimit from 'p-limit';
import type { Pod } from '../../api/types.ts';
import { pullReference } from '../../api/values/image-name.ts';
import { systemClock } from '../../clock.ts';
import { ConfigObjects } from '../../engine/config-objects/config-objects.ts';
import { contentStore, contentStoreProgress } from '../../engine/images/content-store.ts';
import { layerIngests } from '../../engine/images/layer-ingests.ts';
import { imageKey, imageUses } from '../../engine/images/image-keys.ts';
import { PullCredentials, type PullLogin } from '../../engine/images/pull-credentials.ts';
import { PullWatch } from '../../engine/images/pull-watch.ts';
import { pullWithEach } from '../../engine/images/pull-with-each.ts';
import { unlessStalled } from '../../engine/images/stalled-pull.ts';
import { SecretValues } from '../../engine/redaction/secret-values.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { createLogger } from '../../node/log/create-logger.ts';
import { nodeCredentials } from '../../node/node-credentials.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { PullsLine } from './pulls-line.ts';
import { manifestsOf } from './declared-images.ts';
import { type ImageFlags, startManaged, abortOnSignal } from './open-images.ts';

export interface PullFlags extends ImageFlags {
  /** Manifests whose images are pulled. */
  filename?: string[];
  /** Number of images to pull in parallel. */
  parallel: number;
  imageCredentialProviderConfig?: string;
  imageCredentialProviderBinDir?: string;
}

/** An image, and the pods whose credentials are tried for it in order. No two pods have the same credentials. */
interface WantedImage {
  image: string;
  pods: Pod[];
}

/**
 * Pulls images, several at a time, with the credentials that the agent would use. Rejects with a `UserError` that
 * lists the images that could not be pulled.
 */
export async function pullImages(images: readonly string[], flags: PullFlags, deps: CommandDeps): Promise<void> {
  const { filename: paths = [] } = flags;
  const update = paths.length === 0 ? undefined : await manifestsOf(paths, deps);
  const { wanted, never } = wantedImages(images, update?.pods ?? []);
  if (wanted.length + never.length === 0) {
    throw new UserError('no image was named', { hint: 'Name images, or manifests with -f.' });
  }
  for (const image of never) deps.stdout.write(`Not pulled, imagePullPolicy Never: ${visible(image)}\n`);
  if (wanted.length === 0) return;
  const configObjects = new ConfigObjects();
  configObjects.replace('manifests', update?.configObjects ?? []);
  const credentials = await openCredentials(flags, configObjects);
  (await startManaged(flags))?.release();
  const failures = await withRuntime(deps.connect(flags), (connection) =>
    abortOnSignal((signal) => pullAll(wanted, { connection, credentials, parallel: flags.parallel, deps, signal })),
  );
  const failed = wanted.flatMap(({ image }) => {
    const failure = failures.get(image);
    return failure === undefined ? [] : [`  ${image}: ${failure}`];
  });
  if (failed.length > 0) {
    throw new UserError(`these images could not be pulled:\n${failed.join('\n')}`, {
      hint: 'Correct the names, log in, or load the images from an archive: kubelet-ts images load FILE',
    });
  }
}

/**
 * The named images, then those of the pods, each once. `never` lists the images that only pods with imagePullPolicy
 * Never use. Throws a `UserError` for an invalid name.
 */
export function wantedImages(
  images: readonly string[],
  pods: readonly Pod[],
): { wanted: WantedImage[]; never: string[] } {
  const all = [
    ...images.map((image) => ({ image, pod: noPod, pullPolicy: undefined })),
    ...pods.flatMap((pod) => imageUses(pod).map((use) => ({ ...use, pod }))),
  ];
  const wanted = new Map<string, WantedImage>();
  const never = new Map<string, string>();
  for (const { image, pod, pullPolicy } of all) {
    const reference = pullReference(image);
    if (reference === undefined) {
      throw new UserError(`"${image}" is not an image name`, { hint: 'Write [REGISTRY/]NAME[:TAG] in lowercase.' });
    }
    const key = imageKey(image);
    if (pullPolicy === 'Never') never.set(key, reference);
    else wanted.set(key, withPod(wanted.get(key) ?? { image: reference, pods: [] }, pod));
  }
  const unwanted = [...never].filter(([key]) => !wanted.has(key));
  return { wanted: [...wanted.values()], never: unwanted.map(([, image]) => image) };
}

const withPod = ({ image, pods }: WantedImage, pod: Pod): WantedImage => ({
  image,
  pods: pods.some((known) => secretsKey(known) === secretsKey(pod)) ? pods : [...pods, pod],
});

/** The same key for two pods that name the same Secrets. */
function secretsKey({ metadata: { namespace }, spec: { imagePullSecrets = [] } }: Pod): string {
  return imagePullSecrets.length === 0 ? '' : JSON.stringify([namespace, imagePullSecrets]);
}

/** Images named on the command line use only the credentials of the node. */
const noPod: Pod = { metadata: { name: '', namespace: '', uid: '' }, spec: { containers: [] } };

async function openCredentials(flags: PullFlags, configObjects: ConfigObjects): Promise<PullCredentials> {
  const { logger } = await createLogger('text', 'warn');
  const { imageCredentialProviderConfig = '', imageCredentialProviderBinDir = '' } = flags;
  const options = { rootDir: flags.rootDir, imageCredentialProviderConfig, imageCredentialProviderBinDir };
  return new PullCredentials({
    configObjects,
    nodeCredentials: await nodeCredentials(options, logger),
    secrets: new SecretValues(),
  });
}

interface PullRequest {
  connection: RuntimeConnection;
  credentials: PullCredentials;
  /** Number of images to pull in parallel. */
  parallel: number;
  deps: Pick<CommandDeps, 'stdout' | 'stderr'>;
  signal: AbortSignal;
}

/**
 * Pulls the images and prints each one when it is pulled. Resolves with the errors by image. Rejects when the signal
 * aborts.
 */
async function pullAll(wanted: readonly WantedImage[], request: PullRequest): Promise<Map<string, string>> {
  const { connection, credentials, deps, signal } = request;
  const { stdout, stderr } = deps;
  const store = contentStore(connection.runtime);
  const progress = contentStoreProgress(store);
  const line = new PullsLine(wanted.length, { output: stderr, clock: systemClock });
  const watch = new PullWatch({
    readIngests: layerIngests(store),
    clock: systemClock,
    emit: (event) => {
      if (event.type === 'PullProgressed') line.progressed(event);
    },
  });
  const warning = (_reason: string, message: string): void => {
    stderr.write(`warning: ${visible(message)}\n`);
  };
  const pull = async ({ image, pods }: WantedImage): Promise<void> => {
    const one = (login: PullLogin | undefined): Promise<unknown> =>
      unlessStalled(
        (bounded) =>
          connection.images.pullImage(
            { image: { image, annotations: {} }, ...(login && { auth: login.auth }) },
            { signal: bounded },
          ),
        { progress, clock: systemClock, signal },
      );
    const pullFor = async (pod = noPod): Promise<unknown> =>
      pullWithEach(await credentials.of(image, pod, { normal: () => undefined, warning }), one, signal);
    await pullWithEach(pods, pullFor, signal);
  };
  const failures = new Map<string, string>();
  const limit = pLimit(request.parallel);
  const pullAndReport = async (one: WantedImage): Promise<void> => {
    if (signal.aborted) return;
    try {
      await pull(one);
      line.ended(() => stdout.write(`Pulled image: ${visible(one.image)}\n`));
    } catch (error) {
      failures.set(one.image, errorMessage(error));
      line.ended(() => undefined);
    }
  };
  try {
    // The layers of all images count together, because the runtime does not name the image of a layer.
    const all = (): Promise<unknown> => Promise.all(wanted.map((one) => limit(pullAndReport, one)));
    await watch.during('', { pod: noPod, container: '' }, all);
  } finally {
    line.close();
  }
  signal.throwIfAborted();
  return failures;
}
