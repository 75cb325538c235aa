;;; Emacs without a display debugs a kernel: a breakpoint, a step, a step back, Tensor Memory. Run by editors_test.py:
;;; GEN5, PROGRAM, SOURCE and LINE are in the environment.
(require 'dap-mode)

(defvar dap-exception-breakpoints nil) ; dap-ui's, which dap-mode takes for loaded

(setq dap-breakpoints-file (make-temp-name "/tmp/gen5-dap-breakpoints-")
      dap-auto-show-output nil)

(defun gen5-wait (what test)
  "Handle what comes from the adapter until TEST holds; at most half a minute."
  (let ((end (+ (float-time) 30)))
    (while (not (funcall test))
      (when (> (float-time) end) (error "waited in vain: %s" what))
      (accept-process-output nil 0.05))))

(defun gen5-line ()
  (let ((frame (dap--debug-session-active-frame (dap--cur-session))))
    (and frame (gethash "line" frame))))

(defun gen5-console (expression)
  "What the debugger's console answers."
  (gethash "result" (dap-request (dap--cur-session) "evaluate" :expression expression :context "repl")))

(defun gen5-move (do)
  "Call DO, and return the line at which the program stands afterwards."
  (when (dap--cur-session) (setf (dap--debug-session-active-frame (dap--cur-session)) nil))
  (funcall do)
  (gen5-wait "a stop" (lambda () (and (dap--cur-session) (gen5-line))))
  (gen5-line))

(dap-register-debug-provider "gen5" (lambda (conf) (plist-put conf :dap-server-path (list (getenv "GEN5") "debug" "--dap"))))

(find-file (getenv "SOURCE"))
(goto-char (point-min))
(forward-line (1- (string-to-number (getenv "LINE"))))
(dap-breakpoint-add)

(let ((start (gen5-move (lambda ()
                          (dap-debug (list :type "gen5" :request "launch" :name "kernel" :program (getenv "PROGRAM") :args ["--part" "smallest"]))))))
  (princ (format "stopped at line %s\n" start))
  ;; Otherwise the next warp would stop there before this one has made its step.
  (with-current-buffer (find-file-noselect (getenv "SOURCE"))
    (goto-char (point-min))
    (forward-line (1- (string-to-number (getenv "LINE"))))
    (dap-breakpoint-delete (dap--get-breakpoint-at-point) buffer-file-name))
  (princ (format "next leads to line %s\n" (gen5-move (lambda () (dap-next (dap--cur-session))))))
  (princ (format "back leads to line %s\n"
                 (gen5-move (lambda ()
                              (dap--send-message
                               (dap--make-request "stepBack" (list :threadId (dap--debug-session-thread-id (dap--cur-session))))
                               (dap--resp-handler)
                               (dap--cur-session))))))
  (princ (gen5-console "show tmem 0 2 0 4 /f"))
  (dap-disconnect (dap--cur-session)))
(kill-emacs 0)
