import type { ManifestProblem } from '../../src/api/text/manifest-problem.ts';
import { decodeKubeletConfiguration } from '../../src/api/kubelet-configuration/decode.ts';
import { documentLayer, resolveKubeletConfiguration } from '../../src/api/kubelet-configuration/resolve.ts';
import type { KubeletConfiguration } from '../../src/api/kubelet-configuration/types.ts';
import { fieldsWithoutEffect } from '../../src/api/kubelet-configuration/without-effect.ts';

/**
 * Decodes a configuration file, sets the defaults and validates it. If there is an error, there is no configuration.
 * Fields that are set but have no effect here cause warnings.
 */
export function loadKubeletConfiguration(
  bytes: Uint8Array | string,
  origin: string,
): { configuration?: KubeletConfiguration; problems: ManifestProblem[] } {
  const { given, document, problems } = decodeKubeletConfiguration(bytes, origin);
  if (!given || !document) return { problems };
  const layer = documentLayer(given, document);
  const { resolved, problems: broken } = resolveKubeletConfiguration({ file: layer });
  const all = [...problems, ...broken];
  if (!resolved) return { problems: all };
  const unused = fieldsWithoutEffect(resolved.configuration).map(({ field, reason }) => ({
    origin,
    ...document.positionOf(field),
    field,
    message: `without effect here: ${reason}`,
    severity: 'warning' as const,
  }));
  return { configuration: resolved.configuration, problems: [...all, ...unused] };
}
