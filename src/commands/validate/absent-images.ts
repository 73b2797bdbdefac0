import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { isUnavailable } from '../../cri/errors.ts';
import type { Image } from '../../cri/types.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { missingImages, neededImages } from '../../engine/images/needed-images.ts';
import { UserError } from '../../errors.ts';
import type { RuntimeConnection } from '../../node/runtime-connection.ts';
import { withRuntime } from '../../node/with-runtime.ts';

/**
 * An error for each image of the manifests that the runtime does not have. One warning if no runtime answers.
 */
export async function absentImages(
  { where, pods }: SourceUpdate,
  connect: () => Promise<RuntimeConnection>,
): Promise<ManifestProblem[]> {
  const images = await presentImages(connect);
  if (images instanceof Error) {
    return [{ origin: where, message: `the images were not checked: ${images.message}`, severity: 'warning' }];
  }
  return missingImages(neededImages(pods), images).map(({ image, pods: names }) => ({
    origin: where,
    message: `the container runtime has no image ${image}, which pod ${names.join(', ')} needs`,
    hint: 'Load it from an archive: kubelet-ts images load FILE',
    severity: 'error',
  }));
}

async function presentImages(connect: () => Promise<RuntimeConnection>): Promise<readonly Image[] | Error> {
  try {
    return await withRuntime(connect(), async ({ images }) => (await images.listImages({})).images);
  } catch (error) {
    if (error instanceof Error && (error instanceof UserError || isUnavailable(error))) return error;
    throw error;
  }
}
