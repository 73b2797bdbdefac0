import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { Logger } from '../../logger.ts';

interface PauseImageDeps {
  /** Loads the pause image unless it is there; resolves to whether it was missing. */
  readonly ensure: () => Promise<boolean>;
  /** True: a runtime without the image would ask a registry of the internet for it. */
  readonly isAskedOutside: () => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * A runtime in which a sandbox that could not be made is tried once more when the pause image was missing, as somebody
 * removed it. The image is looked for after a failure alone, as that costs nothing while all is well.
 */
export function withPauseImage(runtime: RuntimeService, deps: PauseImageDeps): RuntimeService {
  const { isAskedOutside, logger } = deps;
  let loads = 0;
  let underWay: Promise<void> | undefined;

  const ensure = (): Promise<void> => {
    underWay ??= load().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
  const load = async (): Promise<void> => {
    try {
      if (!(await deps.ensure())) return;
      loads++;
      logger.warn('The pause image was removed, and is loaded again');
    } catch (error) {
      logger.error({ err: error }, 'The pause image could not be loaded again');
    }
  };

  return {
    ...runtime,
    runPodSandbox: async (request, options) => {
      if (await isAskedOutside()) await ensure();
      const loadsBefore = loads;
      try {
        return await runtime.runPodSandbox(request, options);
      } catch (error) {
        if (options?.signal?.aborted === true) throw error;
        await ensure();
        // Of several sandboxes that failed the first one had it loaded.
        if (loads === loadsBefore) throw error;
        return await runtime.runPodSandbox(request, options);
      }
    },
  };
}
