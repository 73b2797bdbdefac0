import { resolve } from 'node:path';
import { pullText } from '../../api/values/pod-printer.ts';
import type { Pod } from '../../api/types.ts';
import { pullReference } from '../../api/values/image-name.ts';
import { systemClock } from '../../clock.ts';
import { ConfigObjects } from '../../engine/config/config-objects.ts';
import { contentStore, contentStoreProgress } from '../../engine/images/content-store.ts';
import { layerIngests } from '../../engine/images/layer-ingests.ts';
import { imagesOf, imageKey } from '../../engine/images/image-keys.ts';
import { PullCredentials } from '../../engine/images/pull-credentials.ts';
import { PullWatch } from '../../engine/images/pull-watch.ts';
import { pullWithEach } from '../../engine/images/pull-with-each.ts';
import { unlessStalled } from '../../engine/images/stalled-pull.ts';
import { SecretValues } from '../../engine/outgoing/secret-values.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { createLogger } from '../../node/log/create-logger.ts';
import { nodeCredentials } from '../../node/node-credentials.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import { visible } from '../../visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { manifestsOf } from './declared-images.ts';
import { type ImageFlags, startManaged, untilSignalled, withRuntime } from './open-images.ts';

export interface PullFlags extends ImageFlags {
  /** Manifests whose images are pulled. */
  filename?: string[];
  imageCredentialProviderConfig?: string;
  imageCredentialProviderBinDir?: string;
}

/** An image, and the pod whose credentials it is pulled with. */
interface Wanted {
  image: string;
  pod: Pod;
}

/**
 * Pulls images one after the other, with the credentials that the agent would use. Rejects with a `UserError` that
 * lists the images that could not be pulled.
 */
export async function pullImages(images: readonly string[], flags: PullFlags, deps: CommandDeps): Promise<void> {
  const { filename: paths = [] } = flags;
  const update = paths.length === 0 ? undefined : await manifestsOf(paths, deps);
  const wanted = wantedImages(images, update?.pods ?? []);
  if (wanted.length === 0) throw new UserError('no image was named', { hint: 'Name images, or manifests with -f.' });
  const configObjects = new ConfigObjects();
  configObjects.replace('manifests', update?.configObjects ?? []);
  const credentials = await openCredentials(flags, configObjects);
  await startManaged(flags);
  const failed: string[] = [];
  await withRuntime(flags, deps, (connection) =>
    untilSignalled(async (signal) => {
      const pull = puller(connection, credentials, deps, signal);
      for (const one of wanted) {
        try {
          await pull(one);
          deps.stdout.write(`Pulled image: ${visible(one.image)}\n`);
        } catch (error) {
          signal.throwIfAborted();
          failed.push(`  ${one.image}: ${errorMessage(error)}`);
        }
      }
    }),
  );
  if (failed.length > 0) {
    throw new UserError(`these images could not be pulled:\n${failed.join('\n')}`, {
      hint: 'Correct the names, log in, or load the images from an archive: kubelet-ts images load FILE',
    });
  }
}

/** The named images, then those of the pods, each once. Throws a `UserError` for a name that is not valid. */
export function wantedImages(images: readonly string[], pods: readonly Pod[]): Wanted[] {
  const all = [
    ...images.map((image) => ({ image, pod: noPod })),
    ...pods.flatMap((pod) => imagesOf(pod).map((image) => ({ image, pod }))),
  ];
  const wanted = new Map<string, Wanted>();
  for (const { image, pod } of all) {
    const reference = pullReference(image);
    if (reference === undefined) {
      throw new UserError(`"${image}" is not an image name`, { hint: 'Write [REGISTRY/]NAME[:TAG] in lowercase.' });
    }
    if (!wanted.has(imageKey(image))) wanted.set(imageKey(image), { image: reference, pod });
  }
  return [...wanted.values()];
}

/** Images of the command line have the credentials of the node alone. */
const noPod: Pod = { metadata: { name: '', namespace: '', uid: '' }, spec: { containers: [] } };

async function openCredentials(flags: PullFlags, configObjects: ConfigObjects): Promise<PullCredentials> {
  const { logger } = await createLogger('text', 'warn');
  const { imageCredentialProviderConfig = '', imageCredentialProviderBinDir = '' } = flags;
  const options = { rootDir: resolve(flags.rootDir), imageCredentialProviderConfig, imageCredentialProviderBinDir };
  return new PullCredentials({
    configObjects,
    nodeCredentials: await nodeCredentials(options, logger),
    secrets: new SecretValues(),
  });
}

function puller(
  { runtime, images }: RuntimeConnection,
  credentials: PullCredentials,
  { stderr }: CommandDeps,
  signal: AbortSignal,
): (wanted: Wanted) => Promise<void> {
  const store = contentStore(runtime);
  const isShown = stderr.isTTY === true;
  const watch = new PullWatch({
    readIngests: layerIngests(store),
    clock: systemClock,
    emit: (event) => {
      if (event.type === 'PullProgressed' && isShown) stderr.write(`\r${event.image} ${pullText(event)}\u001B[K`);
    },
  });
  const progress = contentStoreProgress(store);
  const warning = (_reason: string, message: string): void => {
    stderr.write(`warning: ${visible(message)}\n`);
  };
  return async ({ image, pod }) => {
    const known = await credentials.of(image, pod, { normal: () => undefined, warning });
    await watch
      .during(image, { pod, container: '' }, () =>
        pullWithEach(
          known,
          (auth) =>
            unlessStalled(
              (bounded) =>
                images.pullImage({ image: { image, annotations: {} }, ...(auth && { auth }) }, { signal: bounded }),
              { progress, clock: systemClock, signal },
            ),
          signal,
        ),
      )
      .finally(() => {
        if (isShown) stderr.write('\r\u001B[K');
      });
  };
}
