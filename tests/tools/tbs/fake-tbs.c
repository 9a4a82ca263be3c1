// The functions of Windows' tbs.dll that svc-node calls, over a software TPM's socket (TPM_SOCKET): same names, same arguments.
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TBS_SUCCESS 0u
#define TBS_E_BAD_PARAMETER 0x80284002u
#define TBS_E_INSUFFICIENT_BUFFER 0x80284005u
#define TBS_E_TPM_NOT_FOUND 0x8028400Fu
#define TPM_E_COMMAND_BLOCKED 0x80280400u

static struct { int socket; } context;
static const uint8_t log_bytes[] = {1, 2, 3, 4, 5};

uint32_t Tbsi_Context_Create(const uint32_t *parameters, void **handle) {
  // TBS_CONTEXT_PARAMS2: its version, and includeTpm20.
  if (parameters[0] != 2 || parameters[1] != 4) return TBS_E_BAD_PARAMETER;
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = TPM_SOCKET};
  context.socket = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(context.socket, (struct sockaddr *)&address, sizeof address) != 0) return TBS_E_TPM_NOT_FOUND;
  *handle = &context;
  return TBS_SUCCESS;
}

static int read_all(uint8_t *to, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t count = read(context.socket, to + done, length - done);
    if (count <= 0) return 0;
    done += (size_t)count;
  }
  return 1;
}

uint32_t Tbsip_Submit_Command(void *handle, uint32_t locality, uint32_t priority, const uint8_t *command,
                              uint32_t length, uint8_t *answer, uint32_t *answer_length) {
  if (handle != &context || locality != 0 || priority != 200) return TBS_E_BAD_PARAMETER;
#ifdef BLOCKED_COMMAND
  uint32_t code = (uint32_t)command[6] << 24 | command[7] << 16 | command[8] << 8 | command[9];
  if (code == BLOCKED_COMMAND) return TPM_E_COMMAND_BLOCKED;
#endif
  if (write(context.socket, command, length) != (ssize_t)length || !read_all(answer, 10)) return TBS_E_TPM_NOT_FOUND;
  uint32_t size = (uint32_t)answer[2] << 24 | answer[3] << 16 | answer[4] << 8 | answer[5];
  if (size > *answer_length) return TBS_E_INSUFFICIENT_BUFFER;
  if (!read_all(answer + 10, size - 10)) return TBS_E_TPM_NOT_FOUND;
  *answer_length = size;
  return TBS_SUCCESS;
}

uint32_t Tbsi_Get_TCG_Log(void *handle, uint8_t *log, uint32_t *length) {
  if (handle != &context) return TBS_E_BAD_PARAMETER;
  if (log != 0) memcpy(log, log_bytes, sizeof log_bytes);
  *length = sizeof log_bytes;
  return TBS_SUCCESS;
}

uint32_t Tbsip_Context_Close(void *handle) {
  if (handle != &context) return TBS_E_BAD_PARAMETER;
  close(context.socket);
  return TBS_SUCCESS;
}
