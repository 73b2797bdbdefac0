import { UserError } from '../../errors.ts';
import { type NodeFlags, nodeOptions } from '../options/node-options.ts';
import { isURL } from '../options/url-for-path.ts';
import type { Examined } from './diagnose.ts';

/**
 * The node of these flags. An invalid configuration, or a URL in place of a path, becomes a finding; then only the
 * root-dir of the node is used.
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
