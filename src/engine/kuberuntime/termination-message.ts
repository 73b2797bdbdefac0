import { errorMessage } from '../../errors.ts';
import type { RuntimeContainerState } from '../container/runtime-pod-status.ts';

/** Maximum number of bytes read from the end of the termination message file. */
const MAX_FILE_BYTES = 4096;
/** Limits of the log tail that replaces a missing file: lines, then bytes. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;

/** The runtime's status of a container, plus two of the kubelet's annotations. */
export interface TerminationMessageContainer {
  state: RuntimeContainerState;
  exitCode: number;
  reason: string;
  message: string;
  mounts: readonly { containerPath: string; hostPath: string }[];
  logPath: string;
  /** Annotation `io.kubernetes.container.terminationMessagePath`. Empty if missing. */
  terminationMessagePath: string;
  /** Annotation `io.kubernetes.container.terminationMessagePolicy`. */
  terminationMessagePolicy: string;
}

/** Reads the end of files and logs. */
export interface TerminationMessageReader {
  /** The last `maxBytes` of a file. Resolves with undefined if it is missing. Rejects with other errors. */
  readFileTail(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** The end of a container log, without timestamps, each line with its newline. Never rejects. */
  readLogTail(logPath: string, limits: { maxLines: number; maxBytes: number }): Promise<Uint8Array>;
}

/**
 * The message of a container: the runtime's message, followed for an exited container by its termination message file
 * or, if its policy allows, the end of its log. kubelet: kuberuntime_container.go convertToKubeContainerStatus
 */
export async function terminationMessage(
  container: TerminationMessageContainer,
  reader: TerminationMessageReader,
): Promise<string> {
  if (container.state !== 'exited') return container.message;
  const lastWords = await readTerminationText(container, reader);
  return [container.message, lastWords].filter((part) => part !== '').join(': ');
}

async function readTerminationText(
  container: TerminationMessageContainer,
  reader: TerminationMessageReader,
): Promise<string> {
  let fromFile: Uint8Array | undefined;
  const path = hostPathOfMessage(container);
  if (path !== undefined) {
    try {
      fromFile = await reader.readFileTail(path, MAX_FILE_BYTES);
    } catch (error) {
      return `Error on reading termination log ${path}: ${errorMessage(error)}`;
    }
  }
  if (fromFile?.length) return decode(fromFile);
  if (!fallsBackToLogs(container)) return '';
  return decode(await reader.readLogTail(container.logPath, { maxLines: MAX_LOG_LINES, maxBytes: MAX_LOG_BYTES }));
}

function hostPathOfMessage({ terminationMessagePath, mounts }: TerminationMessageContainer): string | undefined {
  if (terminationMessagePath === '') return undefined;
  const containerPath = terminationMessagePath.startsWith('/') ? terminationMessagePath : `/${terminationMessagePath}`;
  return mounts.find((mount) => mount.containerPath === containerPath)?.hostPath;
}

function fallsBackToLogs({ terminationMessagePolicy, exitCode, reason }: TerminationMessageContainer): boolean {
  // A container that could not start has no log.
  return terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0 && reason !== 'ContainerCannotRun';
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
