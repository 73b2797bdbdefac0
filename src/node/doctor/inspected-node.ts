import { UserError } from '../../errors.ts';
import { type NodeFlags, nodeOptions } from '../options/node-options.ts';
import { isURL } from '../options/url-for-path.ts';
import type { Examined } from './diagnose.ts';

/**
 * The node of these flags. A wrong configuration, or a URL in the place of a path, is a finding: only the place of the
 * node counts then.
 */
export async function inspectedNode(flags: NodeFlags, manifests: readonly string[]): Promise<Examined> {
  try {
    return { options: await nodeOptions(flags, manifests) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, hint } = error;
    const { rootDir, podManifestPath, containerRuntimeEndpoint } = flags;
    const plain: NodeFlags = {
      rootDir,
      ...(podManifestPath && { podManifestPath: withoutURLs(podManifestPath) }),
      ...(containerRuntimeEndpoint !== undefined && { containerRuntimeEndpoint }),
    };
    const configurationError = { message, ...(hint !== undefined && { hint }) };
    return { options: await nodeOptions(plain, withoutURLs(manifests)), configurationError };
  }
}

const withoutURLs = (paths: readonly string[]): string[] => paths.filter((path) => !isURL(path));
